import type { texts as english } from '../en/instance-load.js';

export const texts: typeof english = {
  title: 'Last',
  ranges: { '1h': '1 Stunde', '2d': '2 Tage', '90d': '90 Tage' },
  overWhat: 'Über welche Zeit',
  moment: 'Einen Moment …',
  nothing: (range) =>
    `Innerhalb von ${range} wurde nichts gemessen. Die ersten Werte kommen 20 Sekunden nach einem Start.`,
  asTable: 'Als Tabelle',
  table: 'Last als Tabelle',
  newest: 'Last, das Neueste zuerst',
  time: 'Zeit',
};

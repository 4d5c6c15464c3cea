import type { texts as english } from '../en/instance-load.js';

export const texts: typeof english = {
  title: 'Auslastung',
  ranges: { '1h': '1 Stunde', '2d': '2 Tage', '90d': '90 Tage' },
  shortRanges: { '1h': '1 Std.', '2d': '2 Tage', '90d': '90 Tage' },
  more: 'Weitere Diagramme und Tabelle',
  period: 'Zeitraum',
  moment: 'Wird geladen …',
  nothing: (range) =>
    `In diesem Zeitraum (${range}) wurde nichts gemessen. Die ersten Werte erscheinen 20 Sekunden nach einem Start.`,
  table: 'Auslastung als Tabelle',
  newest: 'Auslastung, neueste zuerst',
  time: 'Zeit',
};

import type { texts as english } from '../en/month-limit.js';

export const texts: typeof english = {
  title: 'Monatslimit',
  what: 'Ist es erreicht, wird in derselben Sekunde alles angehalten, was läuft. Der Speicherplatz bleibt und kostet weiter.',
  label: 'Höchstens je UTC-Monat',
  used: 'diesen Monat ausgegeben',
};

import type { texts as english } from '../en/month-limit.js';

export const texts: typeof english = {
  title: 'Monatslimit',
  what: 'Ist es erreicht, werden alle laufenden Instanzen sofort angehalten. Der Speicherplatz bleibt erhalten und kostet weiter.',
  label: 'Limit pro UTC-Monat',
  used: 'in diesem Monat ausgegeben',
};

import type { texts as english } from '../en/month.js';

export const texts: typeof english = {
  title: 'Dieser Monat bis zu seinem Ende',
  what: 'Wenn alles weiterläuft wie jetzt, bis der UTC-Monat endet',
  sums: 'Summen dieses Monats',
  byModel: 'Nach Modell',
  byName: 'Nach Name',
  none: 'In diesem Monat wurde nichts ausgegeben',
  noneWhat: 'Jedes Modell und jeder Name, den Sie Instanzen geben, bekommt eine eigene Zeile.',
  model: 'Modell',
  name: 'Name',
  hourly: 'USD/h jetzt',
  spent: 'Bisher, USD',
  atEnd: 'Am Ende, USD',
  volumes: 'Volumes',
  otherNames: 'Alle anderen Namen',
  together: 'Gesamt',
};

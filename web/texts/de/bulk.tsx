import { number } from '../../figures/number.js';
import type { texts as english } from '../en/bulk.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  selectAll: 'Alle auswählen',
  selected: (count, all) => `${number(count)} von ${number(all)} ausgewählt`,
  STOP: {
    button: (count) => plural(count, { one: '1 Instanz anhalten', other: `${number(count)} Instanzen anhalten` }),
    title: (count) => plural(count, { one: '1 Instanz anhalten?', other: `${number(count)} Instanzen anhalten?` }),
    busy: 'Werden angehalten …',
    keep: 'Weiterlaufen lassen',
    done: (count) =>
      plural(count, {
        one: '1 Instanz angehalten. Ihr Speicherplatz bleibt erhalten.',
        other: `${number(count)} Instanzen angehalten. Ihr Speicherplatz bleibt erhalten.`,
      }),
  },
  DESTROY: {
    button: (count) => plural(count, { one: '1 Instanz löschen', other: `${number(count)} Instanzen löschen` }),
    title: (count) => plural(count, { one: '1 Instanz löschen?', other: `${number(count)} Instanzen löschen?` }),
    busy: 'Werden gelöscht …',
    keep: 'Behalten',
    done: (count) => plural(count, { one: '1 Instanz gelöscht.', other: `${number(count)} Instanzen gelöscht.` }),
  },
  list: 'Ausgewählte Instanzen',
  selection: 'die Auswahl',
  clear: 'Auswahl aufheben',
  addLabel: 'Label hinzufügen',
  addLabels: (count) => `${number(count)} Instanzen mit Labels versehen`,
  labelled: (count) => `${number(count)} Instanzen mit Labels versehen.`,
  progress: (done, all) => `${done} von ${number(all)} erledigt`,
  notDone: (left, all) => `${left} von ${number(all)} fehlgeschlagen.`,
  close: 'Schließen',
  done: 'erledigt',
  stops: (gpus, disks) => (
    <>
      Die GPUs kosten ab sofort nichts mehr: {gpus} USD/h weniger. Der Speicherplatz bleibt erhalten und kostet
      weiterhin insgesamt {disks}, bis Sie die Instanzen löschen.
    </>
  ),
  mayBeTaken:
    'Andere können die Maschinen in der Zwischenzeit mieten. Die Instanzen lassen sich dann erst wieder starten, wenn ihre Maschinen frei sind.',
  ends: (saved) => <>Alle ihre Kosten enden sofort: {saved} weniger.</>,
  erased: (gb) =>
    `Ihr Speicherplatz, insgesamt ${number(gb)} GB, und alle Daten darauf werden gelöscht. Das lässt sich nicht rückgängig machen. Volumes bleiben erhalten.`,
  earlyExit: (usd) => (
    <>Einige Reservierungen laufen noch. Wenn Sie jetzt löschen, zahlen Sie die bisherigen Rabatte von {usd} zurück.</>
  ),
};

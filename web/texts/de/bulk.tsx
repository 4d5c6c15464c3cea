import { number } from '../../figures/number.js';
import type { texts as english } from '../en/bulk.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  chooseAll: 'Alle wählen',
  chosen: (count, all) => `${number(count)} von ${number(all)} gewählt`,
  STOP: {
    button: (count) => plural(count, { one: '1 Instanz anhalten', other: `${number(count)} Instanzen anhalten` }),
    title: (count) => plural(count, { one: '1 Instanz anhalten?', other: `${number(count)} Instanzen anhalten?` }),
    busy: 'Werden angehalten …',
    keep: 'Laufen lassen',
    done: (count) =>
      plural(count, {
        one: '1 Instanz angehalten. Ihr Speicher bleibt.',
        other: `${number(count)} Instanzen angehalten. Ihr Speicher bleibt.`,
      }),
  },
  DESTROY: {
    button: (count) => plural(count, { one: '1 Instanz löschen', other: `${number(count)} Instanzen löschen` }),
    title: (count) => plural(count, { one: '1 Instanz löschen?', other: `${number(count)} Instanzen löschen?` }),
    busy: 'Werden gelöscht …',
    keep: 'Behalten',
    done: (count) => plural(count, { one: '1 Instanz gelöscht.', other: `${number(count)} Instanzen gelöscht.` }),
  },
  which: 'Welche Instanzen',
  progress: (done, all) => `${done} von ${number(all)} fertig`,
  notDone: (left, all) => `${left} von ${number(all)} ließen sich nicht ausführen.`,
  close: 'Schließen',
  done: 'fertig',
  stops: (gpus, disks) => (
    <>
      Die GPUs kosten ab dieser Sekunde nichts mehr: {gpus} USD/h weniger. Der Speicher bleibt und kostet zusammen
      weiter {disks}, bis Sie die Instanzen löschen.
    </>
  ),
  mayBeTaken:
    'Andere können die Maschinen inzwischen mieten; dann lassen sich diese Instanzen erst starten, wenn sie wieder frei sind.',
  ends: (saved) => <>Alle ihre Kosten enden in dieser Sekunde: {saved} weniger.</>,
  erased: (gb) =>
    `Ihr Speicher, zusammen ${gb} GB, und alles darauf wird gelöscht. Das lässt sich nicht rückgängig machen. Volumes bleiben.`,
  earlyExit: (usd) => (
    <>Nicht beendete Reservierungen enden damit: Sie jetzt zu verlassen kostet {usd}, die bisherigen Rabatte.</>
  ),
};

import type { texts as english } from '../en/actions.js';

export const texts: typeof english = {
  START: {
    name: 'Starten',
    label: (name) => `${name} starten`,
    title: (name) => `${name} starten?`,
    busy: 'Startet …',
    keep: 'Nicht jetzt',
    done: (name) => `${name} startet.`,
  },
  STOP: {
    name: 'Anhalten',
    label: (name) => `${name} anhalten`,
    title: (name) => `${name} anhalten?`,
    busy: 'Hält an …',
    keep: 'Laufen lassen',
    done: (name) => `${name} ist angehalten. Der Speicher bleibt.`,
  },
  DESTROY: {
    name: 'Löschen',
    label: (name) => `${name} löschen`,
    title: (name) => `${name} löschen?`,
    busy: 'Wird gelöscht …',
    keep: 'Behalten',
    done: (name) => `${name} ist gelöscht.`,
  },
  what: (count, model, template, cost) => (
    <>
      {count} × {model}, {template}. Bisherige Kosten: {cost}.
    </>
  ),
  nothingChanged: 'nichts wurde geändert',
  starts: (all, gpu, disk) => (
    <>
      Von da an kostet sie {all}: {gpu} für die GPUs und {disk} für den Speicher, der schon jetzt kostet.
    </>
  ),
  stops: (gpu, gb, disk) => (
    <>
      Die GPUs kosten ab dieser Sekunde nichts mehr: {gpu} USD/h weniger. Der Speicher von {gb} GB bleibt und kostet
      weiter {disk}, bis Sie die Instanz löschen.
    </>
  ),
  mayBeTaken:
    'Andere können die Maschine inzwischen mieten; dann lässt sich diese Instanz erst starten, wenn sie wieder frei ist.',
  ends: (nothing) => <>Alle Kosten enden in dieser Sekunde: Von da an kostet sie {nothing}.</>,
  nothing: 'nichts',
  erased: (gb) => `Der Speicher von ${gb} GB und alles darauf wird gelöscht. Das lässt sich nicht rückgängig machen.`,
  earlyExit: (usd) => <>Die Reservierung ist nicht um: Sie jetzt zu verlassen kostet {usd}, den bisherigen Rabatt.</>,
};

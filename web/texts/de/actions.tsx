import type { texts as english } from '../en/actions.js';

export const texts: typeof english = {
  START: {
    name: 'Starten',
    label: (name) => `${name} starten`,
    title: (name) => `${name} starten?`,
    busy: 'Wird gestartet …',
    keep: 'Nicht jetzt',
    done: (name) => `${name} wird gestartet.`,
  },
  STOP: {
    name: 'Anhalten',
    label: (name) => `${name} anhalten`,
    title: (name) => `${name} anhalten?`,
    busy: 'Wird angehalten …',
    keep: 'Weiterlaufen lassen',
    done: (name) => `${name} wurde angehalten. Der Speicherplatz bleibt erhalten.`,
  },
  DESTROY: {
    name: 'Löschen',
    label: (name) => `${name} löschen`,
    title: (name) => `${name} löschen?`,
    busy: 'Wird gelöscht …',
    keep: 'Behalten',
    done: (name) => `${name} wurde gelöscht.`,
  },
  summary: (count, model, template, cost) => (
    <>
      {count} × {model}, {template}. Bisherige Kosten: {cost}.
    </>
  ),
  nothingChanged: 'Es wurde nichts geändert',
  starts: (all, gpu, disk) => (
    <>
      Danach kostet die Instanz {all}: {gpu} für die GPUs und {disk} für den Speicherplatz, den Sie schon jetzt
      bezahlen.
    </>
  ),
  stops: (gpu, gb, disk) => (
    <>
      Die GPUs kosten ab sofort nichts mehr: {gpu} USD/h weniger. Der Speicherplatz von {gb} GB bleibt erhalten und
      kostet weiterhin {disk}, bis Sie die Instanz löschen.
    </>
  ),
  mayBeTaken:
    'Andere können die Maschine in der Zwischenzeit mieten. Die Instanz lässt sich dann erst wieder starten, wenn die Maschine frei ist.',
  ends: (nothing) => <>Alle Kosten enden sofort: Danach kostet die Instanz {nothing} mehr.</>,
  nothing: 'nichts',
  erased: (gb) =>
    `Der Speicherplatz von ${gb} GB und alle Daten darauf werden gelöscht. Das lässt sich nicht rückgängig machen.`,
  earlyExit: (usd) => (
    <>Die Reservierung läuft noch. Wenn Sie jetzt löschen, zahlen Sie den bisherigen Rabatt von {usd} zurück.</>
  ),
};

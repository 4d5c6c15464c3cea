import type { texts as english } from '../en/price-sheet.js';

export const texts: typeof english = {
  title: 'Modelle und Preise',
  perGpuHour: 'Preise in USD pro GPU-Stunde',
  clear: 'Auswahl aufheben',
  done: 'Fertig',
  caption: 'USD pro GPU-Stunde und passende freie GPUs, nach Modell',
  gpu: 'GPU',
  free: 'Frei',
  freeGpus: 'Freie GPUs',
  // The heading says the currency.
  modeInUsd: (mode) => mode,
  none: 'Kein Modell passt zu diesen Filtern',
  noneAdvice: 'Versuchen Sie es mit einem anderen Namen, einem höheren Preis oder weniger VRAM.',
};

import type { texts as english } from '../en/price-sheet.js';

export const texts: typeof english = {
  title: 'Preisliste',
  perGpuHour: 'USD pro GPU-Stunde',
  again: 'Erneut versuchen',
  caption: 'USD pro GPU-Stunde und passende freie GPUs, nach Modell',
  gpu: 'GPU',
  free: 'Frei',
  freeGpus: 'Freie GPUs',
  // The heading says the currency.
  modeInUsd: (mode) => mode,
  reading: 'Die Preisliste wird geladen …',
  none: 'Kein Modell erfüllt diese Anforderungen',
  noneAdvice: 'Versuchen Sie es mit einem anderen Namen, einem höheren Preis oder weniger VRAM.',
};

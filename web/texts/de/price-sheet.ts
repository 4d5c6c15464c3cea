import type { texts as english } from '../en/price-sheet.js';

export const texts: typeof english = {
  title: 'Preisliste',
  perGpuHour: 'USD je GPU-Stunde',
  again: 'Erneut versuchen',
  caption: 'Nach Modell: USD je GPU-Stunde und die GPUs, die jetzt frei sind und die Anforderungen erfüllen',
  gpu: 'GPU',
  free: 'Frei',
  freeGpus: 'Freie GPUs',
  // The heading says the currency.
  modeInUsd: (mode) => mode,
  reading: 'Die Preisliste wird geladen …',
  none: 'Kein Modell erfüllt diese Anforderungen',
  noneAdvice: 'Suchen Sie einen anderen Namen, erhöhen Sie den Preis oder verlangen Sie weniger VRAM.',
};

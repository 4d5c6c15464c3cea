import type { texts as english } from '../en/first-sight.js';

export const texts: typeof english = {
  title: 'GPUs sekundengenau mieten',
  heading: 'GPUs sekundengenau mieten, zu 70 % des Marktpreises',
  what: 'Ihre eigene Maschine, in wenigen Sekunden bereit: Ihr Container, SSH und eine Abrechnung, die mit der Sekunde endet, in der Sie anhalten. Keine Einrichtungsgebühr, keine Vertragsbindung.',
  rentGpu: 'GPU mieten',
  allPrices: 'Alle Preise ansehen',
  where: 'Regionen mit freien GPUs',
  freeNow: 'Jetzt frei',
  gpusFree: 'GPUs jetzt frei',
  machines: 'Maschinen',
  regions: 'Regionen',
  prices: 'Preise',
  perGpuHour: 'USD pro GPU-Stunde',
  cheaperModes: (interruptible, reserved) => `Ab ${interruptible} unterbrechbar, ${reserved} reserviert`,
  free: (gpus) => `${gpus} frei`,
  rent: 'Mieten',
  rentModel: (model) => `${model} mieten`,
  trend: (change, snapshots, hidden) => (
    <>
      {change} {hidden(`über ${snapshots} Marktstände`)}
    </>
  ),
  moreRegions: (count) => `und ${count} weitere`,
  priceSheet: 'Preisliste',
  marketOf: (snapshot) => `USD pro GPU-Stunde, Marktstand: ${snapshot}`,
  caption: 'USD pro GPU-Stunde und freie GPUs nach Modell',
  gpu: 'GPU',
  vram: 'VRAM',
  freeGpus: 'Freie GPUs',
  trendColumn: 'Verlauf',
  // The heading says the currency.
  modeInUsd: (mode) => mode,
  reading: 'Die Preisliste wird geladen …',
  showAll: (count) => `Alle ${count} Modelle anzeigen`,
};

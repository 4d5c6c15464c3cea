import { number } from '../../figures/number.js';
import type { texts as english } from '../en/first-sight.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'GPUs sekundengenau mieten',
  heading: 'GPUs mieten, 30\u00a0%\u00a0unter Marktpreis',
  what: 'Vom Klick zur Shell in wenigen Sekunden, auf Ihrer eigenen Maschine. Keine Einrichtungsgebühr, kein Abo und nach dem Anhalten keine GPU-Kosten.',
  deployGpu: 'GPU mieten',
  allPrices: 'Alle Preise ansehen',
  where: 'Regionen mit freien GPUs',
  freeNow: 'Jetzt frei',
  gpusFree: 'GPUs jetzt frei',
  machines: 'Maschinen',
  regions: 'Regionen',
  prices: 'Preise',
  perGpuHour: 'USD pro GPU-Stunde',
  free: (gpus) => `${gpus} frei`,
  deploy: 'Mieten',
  deployModel: (model) => `${model} mieten`,
  trend: (change, snapshots, hidden) => (
    <>
      {change} {hidden(`über ${snapshots} Erhebungen der Marktpreise`)}
    </>
  ),
  gpus: (count) => plural(count, { one: '1 GPU', other: `${number(count)} GPUs` }),
  moreRegions: (count) => `und ${count} weitere`,
  reasons: [
    [
      'square-terminal',
      'Eine Shell im Browser',
      'Maschine und Vorlage wählen: Das Terminal öffnet sich, sobald Ihr Container läuft. Zugriff per SSH ist ebenfalls möglich.',
    ],
    [
      'clock',
      'Sekundengenau abgerechnet',
      'Guthaben statt Rechnung, mit Ausgabenlimits und Fristen. Nach dem Anhalten kostet nur noch der Speicherplatz.',
    ],
    [
      'code',
      'Alles auch als API',
      'Die Konsole nutzt die öffentliche GraphQL-API. Skripte können sie ebenso nutzen, außerdem REST, die CLI und die Clients.',
    ],
  ],
  priceSheet: 'Preisliste',
  console: 'Die Konsole',
  market: 'Markt',
  marketHint: 'Median der Angebote am Markt',
  marketAt: (price) => `Markt ${price}`,
  memoryAndFree: (vramGb, gpus) => `${vramGb} GB · ${gpus} frei`,
  caption: 'USD pro GPU-Stunde und freie GPUs nach Modell',
  gpu: 'GPU',
  vram: 'VRAM (GB)',
  freeGpus: 'Freie GPUs',
  trendColumn: 'Verlauf',
  reading: 'Die Preisliste wird geladen …',
  showAll: (count) => `Alle ${count} Modelle anzeigen`,
};

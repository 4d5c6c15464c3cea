import { number } from '../../figures/number.js';
import type { texts as english } from '../en/machines.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  market: (date) =>
    `Marktstand: ${date}. Sekundengenau abgerechnet, keine Einrichtungsgebühr. Keine Mindestdauer, außer 60 GPU-Sekunden, wenn Sie eine unterbrechbare Instanz verdrängen.`,
  toSheet: 'Zur Preisliste',

  popular: 'Modelle mit den meisten freien GPUs',
  popularHint: (vramGb, free) => `${vramGb} GB · ${free}\u00a0frei`,
  fromPrice: (price) => `ab ${price}\u00a0USD/h`,

  search: 'Maschinen',
  modelHint: 'h100, rtx 4090',
  model: 'GPU-Modell',
  region: 'Region',
  gpus: 'GPUs',
  any: 'beliebig',
  atLeast: (count) => `${count} oder mehr`,
  exactly: (count) => `genau ${count}`,
  mostPrice: 'Max. USD/GPU-h',
  vramEach: 'VRAM/GPU (GB)',
  reliabilityMin: 'Zuverlässigkeit (%)',
  more: 'Weitere Anforderungen',
  moreSet: (count) => `${count} gesetzt`,
  tier: 'Klasse',
  tiers: {
    FLAGSHIP: 'Spitzenklasse',
    DATACENTER: 'Rechenzentrum',
    CONSUMER_FLAGSHIP: 'Desktop-Spitzenklasse',
    CONSUMER: 'Desktop',
  },
  ram: 'RAM (GB)',
  freeDisk: 'Freier Speicherplatz (GB)',
  vcpus: 'vCPUs',
  nvlink: 'NVLink',
  fuse: 'FUSE',
  busy: 'Auch Maschinen mit einer unterbrechbaren Instanz',
  only: 'Nur',
  removeModel: (model) => `${model} entfernen`,
  clear: 'Alle Anforderungen entfernen',

  list: 'Freie Maschinen',
  searching: 'Suche läuft …',
  count: (count) =>
    plural(count, {
      one: `${number(count)} Maschine verfügbar`,
      other: `${number(count)} Maschinen verfügbar`,
    }),
  rentBest: 'Beste passende mieten',
  none: 'Zurzeit erfüllt keine Maschine diese Anforderungen',
  noneHint:
    'Entfernen Sie eine Anforderung, oder schließen Sie Maschinen mit einer unterbrechbaren Instanz ein. Die Liste aktualisiert sich automatisch.',
  caption: 'Verfügbare Maschinen mit Preisen in USD und Ausstattung',
  first: (most) => `Das sind die ersten ${most}. Grenzen Sie die Liste mit weiteren Anforderungen ein.`,
  prices: 'Preise',
  compareHead: 'Vergleichen',
  machineHead: 'Maschine',
  rentHead: 'Mieten',
  columns: {
    PRICE_PER_GPU: 'USD/GPU-h',
    PRICE: 'USD/h',
    VRAM: 'VRAM',
    BANDWIDTH: 'GB/s',
    RELIABILITY: 'Zuverl.',
    REGION: 'Region',
    CPU: 'vCPUs',
    MEMORY: 'RAM (GB)',
    DISK: 'Disk (GB)',
    NETWORK: 'Mbit/s ein',
  },
  bandwidthMeans: 'Speicherbandbreite aller GPUs laut Hersteller des Modells: nicht auf der Maschine gemessen',
  compare: (id) => `${id} vergleichen`,
  rent: (id) => (
    <>
      <span class="hidden">{id}</span> Mieten
    </>
  ),
  heldTitle: 'Von einer unterbrechbaren Instanz belegt, die verdrängt wird',
  held: (
    <>
      belegt<span class="hidden"> von einer unterbrechbaren Instanz</span>
    </>
  ),
  runs: {
    real: { name: 'echt', title: 'Ihr Host-Agent führt Ihre Container aus' },
    trial: { name: 'Test', title: 'Führt Ihre Container aus; ihre GPUs sind simuliert' },
    demo: { name: 'Demo', title: 'Fiktive Maschine: Beim Mieten entsteht nur ein Eintrag, es läuft nichts' },
    record: { name: 'nur Eintrag', title: 'Kein Host-Agent: Beim Mieten entsteht nur ein Eintrag, es läuft nichts' },
  },

  compareTitle: 'Vergleich',
  compareOne: 'Vergleich: 1 ausgewählt',
  compareMore: (most) => `Wählen Sie weitere in der Liste aus, bis zu ${most}.`,
  closeCompare: 'Vergleich schließen',
  comparison: 'Vergleich',
  modePrice: (mode) => `${mode} (USD/h)`,
  perGpuHour: 'USD pro GPU-Stunde',
  vram: 'VRAM',
  bandwidth: 'Speicherbandbreite (laut Hersteller)',
  bandwidthPerUsd: 'GB/s pro USD/h',
  reliability: 'Zuverlässigkeit',
  cpu: 'CPU',
  cpuOf: (cpu, vcpus) => `${cpu}, ${vcpus} vCPUs`,
  memory: 'RAM',
  disk: 'Freier Speicherplatz',
  network: 'Netz ein / aus',
  cuda: 'CUDA bis',
  pcie: 'PCIe',
  yes: 'ja',
  no: 'nein',
  taken: 'vergeben',
  removeCompared: (id) => (
    <>
      <span class="hidden">{id}</span> Entfernen
    </>
  ),

  allModels: 'Alle Modelle',
  fewListings: (listings) =>
    `Zu wenige Angebote für einen Marktmedian (${listings} von mindestens 5): Der letzte Preis gilt weiter.`,
  median: (median, listings) =>
    `Marktmedian ${median} USD pro GPU-Stunde, aus ${listings} Angeboten; der On-Demand-Preis beträgt 70 % davon, abgerundet.`,
};

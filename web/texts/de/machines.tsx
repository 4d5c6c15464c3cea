import { number } from '../../figures/number.js';
import type { texts as english } from '../en/machines.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  market: (prices) => `${prices} · sekundengenau abgerechnet`,

  popular: 'Gefragte Modelle',
  perGpu: 'USD/GPU-h',
  freeOf: (vramGb, free) => `${free}\u00a0frei · ${vramGb}\u00a0GB`,
  trendOf: (change, snapshots) => `${change} in ${snapshots} Marktständen`,
  allModels: (count) => `Alle ${count} Modelle`,
  allModelsHint: 'Mit allen Preisen',
  history: 'Preisverlauf',
  fewListings: (listings) => `Zu wenige Angebote für einen Marktmedian (${listings} von mindestens 5)`,
  median: (median, listings) => `Marktmedian ${median} USD pro GPU-Stunde aus ${listings} Angeboten`,
  medianMeans:
    'Der On-Demand-Preis beträgt 70 % des Marktmedians, abgerundet. Bei zu wenigen Angeboten bleibt er unverändert.',

  search: 'Maschinen',
  modelHint: 'GPU-Modell',
  model: 'GPU-Modell',
  region: 'Standort',
  anyRegion: 'Alle Standorte',
  gpus: 'GPUs',
  anyCount: 'Jede GPU-Anzahl',
  atLeast: (count) => `mindestens ${count} GPUs`,
  orMore: (count) => `${count} oder mehr`,
  just: (count) => `genau ${count}`,
  exactly: (count) => `genau ${count} ${count === '1' ? 'GPU' : 'GPUs'}`,
  mostPrice: 'Max. USD/GPU-h',
  vramEach: 'VRAM/GPU (GB)',
  reliabilityMin: 'Zuverlässigkeit (%)',
  more: 'Weitere Filter',
  moreSet: (count) => `${count}\u00a0gesetzt`,
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
  busy: 'Auch Maschinen mit einer unterbrechbaren Instanz (mindestens 60 GPU-Sekunden werden berechnet)',
  chips: {
    price: (usd) => `bis ${usd} USD/GPU-h`,
    vram: (gb) => `mindestens ${gb} GB VRAM`,
    reliability: (percent) => `mindestens ${percent} % zuverlässig`,
    vcpus: (count) => `mindestens ${count} vCPUs`,
    ram: (gb) => `mindestens ${gb} GB RAM`,
    disk: (gb) => `mindestens ${gb} GB Speicherplatz`,
    busy: 'auch belegte Maschinen',
  },
  removeFilter: (filter) => `Filter entfernen: ${filter}`,
  clear: 'Alle Filter entfernen',

  list: 'Freie Maschinen',
  searching: 'Suche läuft …',
  count: (count) => `${number(count)} ${plural(count, { one: 'Maschine', other: 'Maschinen' })}`,
  asOf: (time) => `Stand ${time}`,
  deployCheapest: (price) => `Günstigste mieten · ${price} USD/h`,
  cheapestHint: 'Die günstigste Maschine, die zu diesen Filtern passt, wird beim Mieten gewählt.',
  none: 'Zurzeit passt keine Maschine zu diesen Filtern',
  noneHint:
    'Entfernen Sie einen Filter, oder schließen Sie Maschinen mit einer unterbrechbaren Instanz ein. Die Liste aktualisiert sich automatisch.',
  demo: 'Demo',
  scope: {
    show: (count) =>
      plural(count, {
        one: `${number(count)} Maschine ohne Agenten zeigen`,
        other: `${number(count)} Maschinen ohne Agenten zeigen`,
      }),
    all: (count) =>
      plural(count, {
        one: 'Auf einer davon läuft ohne Host-Agenten nichts',
        other: `Auf ${number(count)} davon läuft ohne Host-Agenten nichts`,
      }),
    hide: 'Maschinen ohne Agenten ausblenden',
    demo: 'Diese Maschinen sind fiktiv: Es starten keine Container',
    agentless: 'Noch hat keine Maschine einen Host-Agenten: Beim Mieten entsteht nur ein Eintrag, es läuft nichts',
  },
  caption: 'Verfügbare Maschinen mit Preisen in USD und Ausstattung',
  first: (most) => `Das sind die ersten ${most}. Grenzen Sie die Liste mit weiteren Filtern ein.`,
  prices: 'Preise',
  sort: 'Sortierung',
  recommended: 'Empfohlen',
  recommendedHint: 'Gefragte Modelle zuerst, dann von jeder Art die günstigste',
  orders: {
    PRICE: 'Niedrigster Preis',
    PRICE_PER_GPU: 'Niedrigster Preis pro GPU',
    VRAM: 'Größter VRAM',
    BANDWIDTH: 'Höchste Speicherbandbreite',
    CPU: 'Meiste vCPUs',
    MEMORY: 'Größter RAM',
    DISK: 'Größter Speicherplatz',
    NETWORK: 'Schnellstes Netz',
    RELIABILITY: 'Höchste Zuverlässigkeit',
    REGION: 'Standort',
  },
  compareHead: 'Vergleichen',
  machineHead: 'Maschine',
  hardwareHead: (
    <>
      <span>vCPUs</span> <span>RAM GB</span> <span>Disk GB</span> <span class="net">Netz Mbit/s</span>
    </>
  ),
  deployHead: 'Mieten',
  columns: {
    PRICE: 'USD/h',
    PRICE_PER_GPU: 'USD/GPU-h',
    REGION: 'Standort',
    RELIABILITY: 'Zuverlässigkeit %',
  },
  detailsOf: (id) => `, Details zu ${id}`,
  equal: (count) => (
    <>
      ×{count}
      <span class="equal-word"> verfügbar</span>
    </>
  ),
  equalTo: (id) => `wie ${id}`,
  equalHint: 'Gleich in Modell, Preis und Standort; CPU, RAM und Speicherplatz können abweichen',
  compare: (id) => `${id} vergleichen`,
  deploy: (id) => (
    <>
      <span class="hidden">{id}</span> Mieten
    </>
  ),
  heldTitle:
    'Von einer unterbrechbaren Instanz belegt, die verdrängt wird. Mindestens 60 GPU-Sekunden werden berechnet',
  held: (
    <>
      belegt<span class="hidden"> von einer unterbrechbaren Instanz</span>
    </>
  ),
  runs: {
    real: { name: 'Agent', title: 'Ihr Host-Agent führt Ihre Container aus' },
    trial: { name: 'Test', title: 'Führt Ihre Container aus; ihre GPUs sind simuliert' },
    demo: { name: 'Demo', title: 'Fiktive Maschine: Beim Mieten entsteht nur ein Eintrag, es läuft nichts' },
    record: { name: 'nur Eintrag', title: 'Kein Host-Agent: Beim Mieten entsteht nur ein Eintrag, es läuft nichts' },
  },

  selected: (count) => `${count} ausgewählt`,
  compareMore: (most) => `von bis zu ${most}`,
  clearSelection: 'Aufheben',
  compareSelected: 'Vergleichen',
  compareTitle: (count) => plural(count, { one: 'Vergleich mit 1 Maschine', other: `${count} Maschinen im Vergleich` }),
  comparison: 'Vergleich',
  addToComparison: 'Zum Vergleich hinzufügen',
  removeFromComparison: 'Aus dem Vergleich entfernen',
  machineId: 'Maschine',
  runsContainers: 'Führt Container aus',
  modePrice: (mode) => `${mode} (USD/h)`,
  perGpuHour: 'Pro GPU (USD/h)',
  vram: 'VRAM',
  bandwidth: 'Bandbreite (Hersteller)',
  bandwidthPerUsd: 'GB/s pro USD/h',
  reliability: 'Zuverlässigkeit',
  cpu: 'CPU',
  cpuOf: (cpu, vcpus) => `${cpu}, ${vcpus} vCPUs`,
  memory: 'RAM',
  disk: 'Freier Speicherplatz',
  network: 'Netz ein / aus',
  networkOf: (down, up) => `${down} ein / ${up} aus, in Mbit/s`,
  cuda: 'CUDA bis',
  pcie: 'PCIe',
  yes: 'ja',
  no: 'nein',
  taken: 'vergeben',
  removeCompared: (id) => `${id} entfernen`,
};

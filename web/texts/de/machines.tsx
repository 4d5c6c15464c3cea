import { number } from '../../figures/number.js';
import type { texts as english } from '../en/machines.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Maschinen',
  market: (date) =>
    `Markt vom ${date}. Sekundengenau abgerechnet, keine Einrichtungsgebühr. Kein Minimum, außer 60 Sekunden GPU, wenn Sie eine unterbrechbare Instanz verdrängen.`,
  toSheet: 'Zur Preisliste',

  popular: 'Modelle mit den meisten freien GPUs',
  popularHint: (vramGb, free) => `${vramGb} GB · ${free} frei`,
  fromPrice: (price) => `ab ${price} USD/h`,

  search: 'Maschinen',
  modelHint: 'h100, rtx 4090',
  model: 'GPU-Modell',
  region: 'Region',
  gpus: 'GPUs',
  any: 'beliebig',
  atLeast: (count) => `${count} oder mehr`,
  exactly: (count) => `genau ${count}`,
  mostPrice: 'Höchstens USD/GPU-h',
  vramEach: 'VRAM je GPU, GB',
  reliabilityMin: 'Zuverlässigkeit, %',
  more: 'Weitere Anforderungen',
  tier: 'Klasse',
  tiers: {
    FLAGSHIP: 'Spitzenklasse',
    DATACENTER: 'Rechenzentrum',
    CONSUMER_FLAGSHIP: 'Desktop-Spitzenklasse',
    CONSUMER: 'Desktop',
  },
  ram: 'RAM, GB',
  freeDisk: 'Freier Speicherplatz, GB',
  vcpus: 'vCPUs',
  nvlink: 'NVLink',
  fuse: 'FUSE',
  busy: 'Auch solche, die eine unterbrechbare Instanz belegt',
  only: 'Nur',
  noLongerOnly: (model) => `Nicht mehr nur ${model}`,
  clear: 'Alle Anforderungen löschen',

  saved: 'Gespeicherte Suchen',
  saveSearch: 'Diese Suche speichern',
  saveAs: 'Name der Suche',
  save: 'Speichern',
  cancel: 'Abbrechen',
  rename: (name) => `${name} umbenennen`,
  renameShort: 'Umbenennen',
  remove: (name) => `${name} löschen`,
  removeShort: 'Löschen',
  edit: 'Bearbeiten',
  done: 'Fertig',
  isSaved: (name) => `Die Suche ${name} ist in diesem Browser gespeichert.`,
  isRemoved: (name) => `Die Suche ${name} ist gelöscht.`,
  isBack: (name) => `Die Suche ${name} ist wieder da.`,
  tooMany: (most) => `Dieser Browser behält ${most} Suchen. Löschen Sie erst eine.`,
  notKept: 'Dieser Browser behält nichts für diese Seite: Die Suche ist weg, wenn Sie sie verlassen.',

  list: 'Freie Maschinen',
  searching: 'Suche läuft …',
  count: (count) =>
    plural(count, {
      one: `${number(count)} Maschine jetzt zu mieten`,
      other: `${number(count)} Maschinen jetzt zu mieten`,
    }),
  rentBest: 'Beste passende mieten',
  none: 'Gerade erfüllt keine Maschine diese Anforderungen',
  noneHint:
    'Nehmen Sie eine Anforderung heraus oder sehen Sie Maschinen an, die eine unterbrechbare Instanz belegt. Die Liste aktualisiert sich selbst.',
  caption: 'Maschinen zum Mieten, ihre Preise in USD und ihre Ausstattung',
  first: (most) => `Das sind die ersten ${most}. Stellen Sie mehr Anforderungen, um die richtige zu finden.`,
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
    MEMORY: 'RAM, GB',
    DISK: 'Platte, GB',
    NETWORK: 'Mbit/s ein',
  },
  bandwidthMeans:
    'Speicherbandbreite aller ihrer GPUs, wie der Hersteller sie für das Modell angibt: nicht auf der Maschine gemessen',
  compare: (id) => `${id} vergleichen`,
  rent: (id) => (
    <>
      <span class="hidden">{id}</span> Mieten
    </>
  ),
  heldTitle: 'Eine unterbrechbare Instanz belegt sie und muss weichen',
  held: (
    <>
      belegt<span class="hidden"> von einer unterbrechbaren Instanz</span>
    </>
  ),
  runs: {
    real: { name: 'echt', title: 'Ihr Host-Agent führt Ihre Container aus' },
    trial: { name: 'Probe', title: 'Führt Ihre Container aus; ihre GPUs sind simuliert' },
    demo: { name: 'Demo', title: 'Eine erfundene Maschine: Sie zu mieten legt einen Eintrag an, und nichts läuft' },
    record: { name: 'nur Eintrag', title: 'Ohne Host-Agent: Sie zu mieten legt einen Eintrag an, und nichts läuft' },
  },

  compareTitle: 'Vergleich',
  compareOne: 'Vergleich: 1 gewählt',
  compareMore: (most) => `Haken Sie weitere in der Liste an, bis zu ${most}.`,
  closeCompare: 'Vergleich schließen',
  whatTheyHave: 'Ihre Ausstattung',
  modePrice: (mode) => `${mode}, USD/h`,
  perGpuHour: 'USD je GPU-Stunde',
  vram: 'VRAM',
  bandwidth: 'Speicherbandbreite laut Hersteller',
  bandwidthPerUsd: 'GB/s je USD/h',
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
    `Zu wenige Angebote für einen Marktmedian (${listings}; nötig sind 5): Der letzte Preis bleibt.`,
  median: (median, listings) =>
    `Marktmedian ${median} USD je GPU-Stunde, aus ${listings} Angeboten; auf Abruf sind es 70 % davon, abgerundet.`,
};

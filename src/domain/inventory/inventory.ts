import { performance } from 'node:perf_hooks';
import type { Database } from '../../database/database.js';
import type { GpuModel, Region, Template } from '../../database/generated/client/client.js';
import type { Notice } from '../../database/notices.js';
import { HAS_AGENT, MACHINE_CONDITION } from '../machine-condition.js';
import { diskLeftGb } from '../rules/disk.js';
import { availabilityOf, type MachineCondition } from '../rules/free-machine.js';
import type { Micro, Rate } from '../rules/money.js';
import { isOffered, type OfferedMachine, type PricedModel } from '../rules/offer.js';
import type { PricingMode } from '../rules/price-rule.js';
import { OfferIndex } from './offer-index.js';

/** SQL for all machines with what the rules decide by: `condition`, `used_disk_gb`, and `running_mode` of what runs. */
export const MACHINES = `
  select machine.*, coalesce(live.used_disk_gb, 0) as used_disk_gb, live.running_mode, ${MACHINE_CONDITION} as condition,
    ${HAS_AGENT} as has_agent
  from machine left join lateral (
    select sum(disk_gb)::int as used_disk_gb, max(mode) filter (where status = 'RUNNING') as running_mode
    from instance where machine_id = machine.id and status <> 'DESTROYED'
  ) live on true`;

/** SQL for the prices of the newest snapshot. */
export const CURRENT_PRICES = `
  select gpu, on_demand_rate, median_micro, listings, snapshot_date from gpu_price
  where snapshot_date = (select max(date) from market_snapshot)`;

/** A model's price in the newest snapshot. */
interface CurrentPrice {
  gpu: string;
  onDemandRate: Rate;
  marketMedian: Micro | null;
  listings: number;
  /** YYYY-MM-DD. */
  snapshot: string;
}

interface Catalogue {
  /** In catalogue order, as are regions and templates. */
  gpuModels: readonly GpuModel[];
  regions: readonly Region[];
  templates: readonly Template[];
  /** By model. */
  prices: ReadonlyMap<string, CurrentPrice>;
  /** The newest snapshot's date, YYYY-MM-DD. */
  marketSnapshot: string;
}

/** The public data as of one moment. */
export interface PublicData {
  catalogue: Catalogue;
  offers: OfferIndex;
}

/** Machines of one reading: small enough for requests to be answered in between. */
const MACHINES_AT_ONCE = 1_000;
/** Running instances of one reading. */
const RUNNING_AT_ONCE = 5_000;
/**
 * Pause from the start of one reading to the next, so that changes are read together; a request doesn't wait for it.
 */
const RELOAD_PAUSE_MS = 100;

/**
 * The public data, kept in memory: catalogue, prices and machines. A change notice, or a write of this process, marks
 * what it names as stale; that is read again before the next answer. Where any machine may have changed, all are read
 * again in the background, and answers are made meanwhile from what was true before; what runs is looked up first, so
 * that a machine that was taken leaves the offers at once. While notices don't come, and until all is read again
 * afterwards, nothing kept is an answer.
 */
export class Inventory {
  readonly #db: Database;
  #data: PublicData | null = null;
  #version = 0;
  /** Machines whose row may have changed since it was read. */
  #stale = new Set<string>();
  #isCatalogueStale = true;
  #isCatalogueRead = false;
  #isAllStale = true;
  #running: Promise<void> | null = null;
  #queued: Promise<void> | null = null;
  #soon: NodeJS.Timeout | null = null;
  /** When the last reading began, as performance.now() counts. */
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Machines that are being read by name; while all are read page by page, also those that were since that began. */
  #readByName = new Set<string>();
  #isPageRead = false;
  #background: Promise<void> | null = null;
  /** Any machine may have changed since the background's reading began. */
  #isBehind = false;
  /** Readers wait for all machines: the background leaves them to that reading. */
  #isUrgent = false;

  constructor(db: Database) {
    this.#db = db;
    db.notices.subscribe({
      onNotice: (notice) => this.#note(notice),
      onLost: (loss) => (loss === 'peer' ? this.#readAnew() : this.#markAllStale()),
    });
  }

  /** Differs after every change; what was made from the data is valid while this is unchanged and `isCurrent` holds. */
  get version(): number {
    return this.#version;
  }

  /** False while there is, or may be, a change that has to be read before the next answer. */
  get isCurrent(): boolean {
    return this.#db.notices.isListening && this.#running === null && !this.#isStale;
  }

  /**
   * Includes everything that this process committed, or that another's notice named, before the call; what is read
   * again in the background it includes once `readInFull` resolves.
   */
  async current(): Promise<PublicData> {
    if (!this.isCurrent) {
      await this.#db.notices.ready();
      if (this.#isStale) await this.#reload();
      else await this.#running;
    }
    return this.#data!;
  }

  /**
   * As it was last read, for use within a transaction, which must not wait for a reading that may need its connection.
   * Only after the first `current`.
   */
  get latest(): PublicData {
    return this.#data!;
  }

  /** As of `current`, but what is stale of machines is not waited for. */
  async catalogue(): Promise<Catalogue> {
    const isStale = this.#isCatalogueStale || this.#isAllStale || this.#isCatalogueRead;
    if (this.#data !== null && !isStale && this.#db.notices.isListening) return this.#data.catalogue;
    return (await this.current()).catalogue;
  }

  /** Null when there is none. A rental needs it and does not depend on notices: without them it is read here. */
  async template(slug: string): Promise<Template | null> {
    if (!this.#db.notices.isListening) return this.#db.prisma.template.findUnique({ where: { slug } });
    return (await this.catalogue()).templates.find((template) => template.slug === slug) ?? null;
  }

  /** Resolves when nothing is read in the background. */
  async readInFull(): Promise<void> {
    while (this.#background !== null) await this.#background;
  }

  get #isStale(): boolean {
    return this.#isAllStale || this.#isCatalogueStale || this.#stale.size > 0;
  }

  #note(notice: Notice): void {
    if (notice.table === 'instance') this.#markStale([notice.machine]);
    else if (notice.table === 'machine' && notice.ids !== undefined) this.#markStale(notice.ids);
    else if (notice.table === 'machine') this.#readAnew();
    else if (notice.table === 'catalogue') {
      this.#isCatalogueStale = true;
      this.#version += 1;
      this.#reloadSoon();
    }
    // Nothing to read again, but answers show it.
    else if (notice.table === 'market_recheck') this.#version += 1;
  }

  #markStale(machineIds: Iterable<string>): void {
    const before = this.#stale.size;
    for (const id of machineIds) this.#stale.add(id);
    if (this.#stale.size === before) return;
    this.#version += 1;
    this.#reloadSoon();
  }

  #markAllStale(): void {
    this.#isAllStale = true;
    this.#version += 1;
    this.#reloadSoon();
  }

  /** Reads ahead, so that the next request need not wait. Does nothing before the first reading. */
  #reloadSoon(): void {
    if (this.#data === null || this.#soon !== null) return;
    const reload = () => {
      this.#soon = null;
      // A failure is reported to the next reader, who tries again.
      if (this.#isStale && this.#db.notices.isListening) this.#reload().catch(() => {});
    };
    const pause = this.#startedAt + RELOAD_PAUSE_MS - performance.now();
    if (pause <= 0) reload();
    else this.#soon = setTimeout(reload, pause).unref();
  }

  /** Reads what is stale by now: a reading in progress may have begun before the change. */
  #reload(): Promise<void> {
    if (this.#running === null) return this.#start();
    this.#queued ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#queued = null;
        return this.#reload();
      });
    return this.#queued;
  }

  #start(): Promise<void> {
    this.#startedAt = performance.now();
    this.#running = this.#load().finally(() => {
      this.#running = null;
      this.#version += 1;
    });
    return this.#running;
  }

  async #load(): Promise<void> {
    const [stale, isCatalogue, isAll] = [this.#stale, this.#isCatalogueStale, this.#isAllStale];
    this.#stale = new Set();
    this.#isCatalogueStale = false;
    this.#isCatalogueRead = isCatalogue || isAll;
    // Without notices a change after this reading would go unnoticed.
    this.#isAllStale = !this.#db.notices.isListening;
    try {
      if (this.#data === null) this.#data = await readData(this.#db);
      else {
        if (isCatalogue || isAll) await this.#readCatalogue();
        const doubtful = isAll ? await this.#readAllAtOnce() : [];
        await this.#readMachines([...stale, ...doubtful]);
      }
    } catch (error) {
      for (const id of stale) this.#stale.add(id);
      this.#isCatalogueStale ||= isCatalogue;
      this.#isAllStale ||= isAll;
      throw error;
    } finally {
      this.#isCatalogueRead = false;
    }
  }

  async #readCatalogue(): Promise<void> {
    const catalogue = await readCatalogue(this.#db);
    const { offers } = this.#data!;
    offers.reprice(pricedModels(catalogue));
    this.#data = { catalogue, offers };
  }

  async #readMachines(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#readByName.add(id);
    for (let at = 0; at < ids.length; at += MACHINES_AT_ONCE) {
      const some = ids.slice(at, at + MACHINES_AT_ONCE);
      const query = { name: 'offered-some', text: SOME_SQL, values: [some] };
      const { rows } = await this.#db.pool.query<MachineRow>(query);
      const machines = new Map(rows.map((row) => [row.machineId, offeredMachine(row)]));
      for (const id of some) this.#place(id, machines.get(id) ?? null);
    }
    if (!this.#isPageRead) this.#readByName.clear();
  }

  #place(id: string, machine: OfferedMachine | null): void {
    if (machine === null) this.#data!.offers.remove(id);
    else this.#data!.offers.put(machine);
  }

  /** Any machine may have changed; it is not known which. */
  #readAnew(): void {
    if (this.#data === null) {
      this.#markAllStale();
      return;
    }
    if (this.#isUrgent) {
      this.#markAllStale();
      return;
    }
    this.#findTaken().catch(() => this.#markAllStale());
    this.#isBehind = true;
    // If the background can't read it, it is read before the next answer, which then reports the fault.
    this.#background ??= this.#keepUp()
      .catch(() => this.#markAllStale())
      .finally(() => {
        this.#background = null;
      });
  }

  async #keepUp(): Promise<void> {
    while (this.#isBehind) {
      this.#isBehind = false;
      this.#markStale(await this.#readAllMachines(() => this.#isUrgent));
      // What a gateway that died had sent to the database may have been committed after the first look.
      await this.#findTaken();
    }
  }

  async #readAllAtOnce(): Promise<string[]> {
    this.#isUrgent = true;
    try {
      // It stops after the page that it is reading, which must not come after a newer one.
      await this.#background;
      this.#isBehind = false;
      return await this.#readAllMachines(() => false);
    } finally {
      this.#isUrgent = false;
    }
  }

  /** Of machines that are offered though something runs on them, reads again before the next answer. */
  async #findTaken(): Promise<void> {
    for (let last = ''; ; ) {
      const query = { name: 'offered-but-running', text: RUNNING_SQL, values: [last] };
      const { rows } = await this.#db.pool.query<{ machineId: string; yields: boolean }>(query);
      const { offers } = this.#data!;
      const isTaken = ({ machineId, yields }: { machineId: string; yields: boolean }) => {
        const machine = offers.machine(machineId);
        return machine !== null && !(machine.preemptible && yields);
      };
      this.#markStale(rows.filter(isTaken).map(({ machineId }) => machineId));
      if (rows.length < RUNNING_AT_ONCE) return;
      last = rows.at(-1)!.machineId;
    }
  }

  /**
   * Page by page, until `isLeft`. Returns the machines in doubt, to be read by name: those that were so meanwhile, of
   * which the page may be the older reading, and those offered that no page held: they are gone, or came since.
   */
  async #readAllMachines(isLeft: () => boolean): Promise<string[]> {
    const met = new Set<string>();
    const once = keepingOne();
    const doubtful: string[] = [];
    this.#isPageRead = true;
    try {
      for (let last = ''; ; ) {
        const query = { name: 'offered-page', text: PAGE_SQL, values: [last] };
        const { rows } = await this.#db.pool.query<MachineRow>(query);
        if (isLeft()) return [];
        for (const row of rows) {
          met.add(row.machineId);
          const machine = offeredMachine(row, once);
          if (isSameMachine(this.#data!.offers.machine(row.machineId), machine)) continue;
          this.#version += 1;
          if (this.#readByName.has(row.machineId)) doubtful.push(row.machineId);
          else this.#place(row.machineId, machine);
        }
        if (rows.length < MACHINES_AT_ONCE) break;
        last = rows.at(-1)!.machineId;
      }
    } finally {
      this.#isPageRead = false;
    }
    for (const id of this.#data!.offers.machineIds()) if (!met.has(id)) doubtful.push(id);
    return doubtful;
  }
}

/** `diskGb` is the whole disk of the machine. */
export interface MachineRow extends Omit<OfferedMachine, 'netMbps' | 'preemptible'> {
  down: number;
  up: number;
  state: MachineCondition;
  usedDiskGb: number;
  runningMode: PricingMode | null;
}

/** Fields of a MachineRow from a row of MACHINES. */
export const MACHINE_COLUMNS = `
  id as "machineId", gpu, num_gpus as "numGpus", region, cpu, vcpus, ram_gb as "ramGb", disk_gb as "diskGb",
  net_down_mbps as down, net_up_mbps as up, ports, pcie, nvlink, cuda_max as "cudaMax", reliability, demo, condition as state,
  has_agent as "hasAgent", used_disk_gb as "usedDiskGb", running_mode as "runningMode"`;

const SOME_SQL = `select ${MACHINE_COLUMNS} from (${MACHINES}) machine where id = any($1)`;
const PAGE_SQL = `select ${MACHINE_COLUMNS} from (${MACHINES}) machine where id > $1 order by id limit ${MACHINES_AT_ONCE}`;

/** All fields of a machine but the bandwidth. */
const FIELDS = [
  'machineId',
  'gpu',
  'numGpus',
  'region',
  'cpu',
  'vcpus',
  'ramGb',
  'diskGb',
  'ports',
  'pcie',
  'nvlink',
  'cudaMax',
  'reliability',
  'preemptible',
  'demo',
  'hasAgent',
] as const satisfies (keyof OfferedMachine)[];

const RUNNING_SQL = `
  select machine_id as "machineId", mode = 'INTERRUPTIBLE' as yields from instance
  where status = 'RUNNING' and machine_id > $1 order by machine_id limit ${RUNNING_AT_ONCE}`;

const PRICES_SQL = `
  select gpu, on_demand_rate as "onDemandRate", median_micro as "marketMedian", listings,
    to_char(snapshot_date, 'YYYY-MM-DD') as snapshot
  from (${CURRENT_PRICES}) price`;

async function readData(db: Database): Promise<PublicData> {
  const catalogue = await readCatalogue(db);
  return { catalogue, offers: new OfferIndex(pricedModels(catalogue), await readOffers(db)) };
}

function pricedModels({ gpuModels, prices }: Catalogue): Map<string, PricedModel> {
  const priced = new Map<string, PricedModel>();
  for (const { slug, tier, vramGb } of gpuModels) {
    const price = prices.get(slug);
    if (price !== undefined) priced.set(slug, { tier, vramGb, onDemandRate: price.onDemandRate });
  }
  return priced;
}

async function readCatalogue({ prisma, pool }: Database): Promise<Catalogue> {
  const order = { orderBy: { position: 'asc' as const } };
  const [gpuModels, regions, templates, prices, newest] = await Promise.all([
    prisma.gpuModel.findMany(order),
    prisma.region.findMany(order),
    prisma.template.findMany(order),
    pool.query<CurrentPrice>(PRICES_SQL),
    pool.query<{ date: string }>(`select to_char(max(date), 'YYYY-MM-DD') as date from market_snapshot`),
  ]);
  const byModel = new Map(prices.rows.map((price) => [price.gpu, price]));
  // A sheet published between the two statements must not lend its date to the prices of the previous one.
  const marketSnapshot = prices.rows[0]?.snapshot ?? newest.rows[0]!.date;
  return { gpuModels, regions, templates, prices: byModel, marketSnapshot };
}

/** In pages, so that requests are answered in between; what changes meanwhile is noticed and read again. */
async function readOffers({ pool }: Database): Promise<OfferedMachine[]> {
  const machines: OfferedMachine[] = [];
  const once = keepingOne();
  for (let last = ''; ; ) {
    const { rows } = await pool.query<MachineRow>({ name: 'offered-page', text: PAGE_SQL, values: [last] });
    for (const row of rows) {
      const machine = offeredMachine(row, once);
      if (machine !== null) machines.push(machine);
    }
    if (rows.length < MACHINES_AT_ONCE) return machines;
    last = rows.at(-1)!.machineId;
  }
}

/** Machines have few different models, regions and processors: one string is kept for each. */
function keepingOne(): (text: string) => string {
  const texts = new Map<string, string>();
  return (text) => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
}

/** Null: not offered. */
function isSameMachine(one: OfferedMachine | null, other: OfferedMachine | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.netMbps.down !== other.netMbps.down || one.netMbps.up !== other.netMbps.up) return false;
  return FIELDS.every((field) => one[field] === other[field]);
}

/**
 * The machine as it is offered; null when it is not. Made field by field: 100,000 objects of one shape take a third of
 * the memory of as many made by spreading.
 */
export function offeredMachine(row: MachineRow, once = (text: string) => text): OfferedMachine | null {
  const availability = availabilityOf(row.state, row.runningMode);
  const diskGb = diskLeftGb(row.diskGb, row.usedDiskGb);
  if (!isOffered(availability, diskGb)) return null;
  return {
    machineId: row.machineId,
    gpu: once(row.gpu),
    numGpus: row.numGpus,
    region: once(row.region),
    cpu: once(row.cpu),
    vcpus: row.vcpus,
    ramGb: row.ramGb,
    diskGb,
    netMbps: { down: row.down, up: row.up },
    ports: row.ports,
    pcie: row.pcie,
    nvlink: row.nvlink,
    cudaMax: once(row.cudaMax),
    reliability: row.reliability,
    preemptible: availability === 'PREEMPTIBLE',
    demo: row.demo,
    hasAgent: row.hasAgent,
  };
}

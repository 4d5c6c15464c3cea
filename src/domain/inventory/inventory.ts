import { performance } from 'node:perf_hooks';
import type { Database } from '../../database/database.js';
import type { GpuModel, Region, Template } from '../../database/generated/client/client.js';
import type { Notice } from '../../database/notices.js';
import { MACHINE_CONDITION } from '../machine-condition.js';
import { diskLeftGb } from '../rules/disk.js';
import { availabilityOf, type MachineCondition } from '../rules/free-machine.js';
import type { Micro, Rate } from '../rules/money.js';
import { isOffered, type OfferedMachine, type PricedModel } from '../rules/offer.js';
import type { PricingMode } from '../rules/price-rule.js';
import { OfferIndex } from './offer-index.js';

/** SQL for all machines with what the rules judge them by: `condition`, `used_disk_gb`, and `running_mode` of what runs. */
export const MACHINES = `
  select machine.*, coalesce(live.used_disk_gb, 0) as used_disk_gb, live.running_mode, ${MACHINE_CONDITION} as condition
  from machine left join lateral (
    select sum(disk_gb)::int as used_disk_gb, max(mode) filter (where status = 'RUNNING') as running_mode
    from instance where machine_id = machine.id and status <> 'DESTROYED'
  ) live on true`;

/** SQL for the prices of the newest snapshot. */
export const CURRENT_PRICES = `
  select gpu, on_demand_rate, median_micro, listings, snapshot_date from gpu_price
  where snapshot_date = (select max(date) from market_snapshot)`;

/** A model's price in the newest snapshot. */
export interface CurrentPrice {
  gpu: string;
  onDemandRate: Rate;
  marketMedian: Micro | null;
  listings: number;
  /** YYYY-MM-DD. */
  snapshot: string;
}

export interface Catalogue {
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

const MACHINES_AT_ONCE = 5_000;
/** Pause from the start of one reading to the next, so that changes are read together; a request doesn't wait for it. */
const RELOAD_PAUSE_MS = 100;

/**
 * The public data, kept in memory: catalogue, prices and offered machines. A change notice, or a write of this process,
 * marks rows as stale; they are read again before the next answer.
 */
export class Inventory {
  readonly #db: Database;
  #data: PublicData | null = null;
  #version = 0;
  /** Machines whose row may have changed since it was read. */
  #stale = new Set<string>();
  #isAllStale = true;
  #running: Promise<void> | null = null;
  #queued: Promise<void> | null = null;
  #soon: NodeJS.Timeout | null = null;
  /** When the last reading began, as performance.now() counts. */
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
    db.notices.subscribe({
      onNotice: (notice) => this.#note(notice),
      onLost: () => this.#markAllStale(),
    });
  }

  /** Differs after every change; what was made from the data is valid while this is the same and `isCurrent` holds. */
  get version(): number {
    return this.#version;
  }

  /** False while there is, or may be, a change that has not been read. */
  get isCurrent(): boolean {
    return this.#db.notices.isListening && this.#running === null && !this.#isStale;
  }

  /** Includes everything that this process committed, or that another's notice told of, before the call. */
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

  #markStale(machineIds: Iterable<string>): void {
    const before = this.#stale.size;
    for (const id of machineIds) this.#stale.add(id);
    if (this.#stale.size === before) return;
    this.#version += 1;
    this.#reloadSoon();
  }

  get #isStale(): boolean {
    return this.#isAllStale || this.#stale.size > 0;
  }

  #note(notice: Notice): void {
    if (notice.table === 'instance') this.#markStale([notice.machine]);
    else if (notice.table === 'machine' && notice.ids !== undefined) this.#markStale(notice.ids);
    else if (notice.table === 'machine' || notice.table === 'catalogue') this.#markAllStale();
    // Nothing to read again, but answers show it.
    else if (notice.table === 'market_recheck') this.#version += 1;
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
    const [stale, isAll] = [this.#stale, this.#isAllStale];
    this.#stale = new Set();
    // Without notices a change after this reading would go unnoticed.
    this.#isAllStale = !this.#db.notices.isListening;
    try {
      if (isAll || this.#data === null) this.#data = await readData(this.#db);
      else await this.#readMachines(this.#data.offers, [...stale]);
    } catch (error) {
      for (const id of stale) this.#stale.add(id);
      this.#isAllStale ||= isAll;
      throw error;
    }
  }

  async #readMachines(offers: OfferIndex, ids: readonly string[]): Promise<void> {
    const { rows } = await this.#db.pool.query<MachineRow>({ name: 'offered-some', text: SOME_SQL, values: [ids] });
    const machines = new Map(rows.map((row) => [row.machineId, offeredMachine(row)]));
    for (const id of ids) {
      const machine = machines.get(id) ?? null;
      if (machine === null) offers.remove(id);
      else offers.put(machine);
    }
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
  used_disk_gb as "usedDiskGb", running_mode as "runningMode"`;

const SOME_SQL = `select ${MACHINE_COLUMNS} from (${MACHINES}) machine where id = any($1)`;
const PAGE_SQL = `select ${MACHINE_COLUMNS} from (${MACHINES}) machine where id > $1 order by id limit ${MACHINES_AT_ONCE}`;

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
  // Machines have few different models, regions and processors: one string is kept for each.
  const texts = new Map<string, string>();
  const once = (text: string) => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
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
  };
}

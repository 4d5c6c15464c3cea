import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../database/database.js';
import type { GpuModel, Region, Template } from '../../database/generated/client/client.js';
import type { Notice } from '../../database/notices.js';
import { only } from '../../database/only.js';
import { required } from '../../std/required.js';
import { diskLeftGb } from '../kernel/disk.js';
import type { MachineCondition } from '../kernel/free-machine.js';
import { ALLOWS_FUSE, HAS_AGENT, MACHINE_CONDITION, USED_GB } from '../kernel/machine-condition.js';
import type { Micro, Rate } from '../kernel/money.js';
import { WHOLE } from '../kernel/slices.js';
import { OfferIndex } from './offer-index.js';
import { type GpuBits, type Layout, layoutOf, wholeLayout } from './rules/layout.js';
import { isAnyOffered, type OfferedHost, type PricedModel } from './rules/offer.js';

/** SQL for an instance's GPUs as bits, by their positions on its host. */
const GPU_BITS = '((1 << num_gpus) - 1) << first_gpu';

/**
 * SQL for all hosts with the data needed for decisions. This includes `condition`, `used_disk_gb`, and the GPUs of
 * running instances as bits: `taken` combines the instances that can't be preempted, and `yielding` has one entry for
 * each of the others. `layout` contains the arguments of `layoutOf` as a JSON list, or null if the host is rented as a
 * whole.
 */
export const HOSTS = hostsFrom('machine');

function hostsFrom(machines: string): string {
  return `
  select machine.*, coalesce(live.used_disk_gb, 0) as used_disk_gb, live.taken, live.yielding, ${MACHINE_CONDITION} as condition,
    ${HAS_AGENT} as has_agent, ${ALLOWS_FUSE} as fuse, (
      select json_build_array(
        case when gpus = '[]' then array_to_json(array_fill(machine.gpu, array[machine.num_gpus]))::jsonb
          else jsonb_path_query_array(gpus, '$[*].model') end,
        case when protocol = 1 then '{${WHOLE}}' else slices end, missing)::text
      from machine_host where machine_id = machine.id
    ) as layout
  from ${machines} left join lateral (
    select sum(${USED_GB})::int as used_disk_gb,
      bit_or(gpus.bits) filter (where status = 'RUNNING' and mode <> 'INTERRUPTIBLE') as taken,
      array_agg(gpus.bits order by gpus.bits) filter (where status = 'RUNNING' and mode = 'INTERRUPTIBLE') as yielding
    from instance, lateral (select ${GPU_BITS}) as gpus (bits)
    where machine_id in (select id from machine block where block.host_id = machine.id) and status <> 'DESTROYED'
  ) live on true
  where machine.host_id = machine.id`;
}

/** SQL for the prices in the newest snapshot. */
export const CURRENT_PRICES = `
  select gpu, on_demand_rate, median_micro, listings, snapshot_date from gpu_price
  where snapshot_date = (select max(date) from market_snapshot)`;

/** A model's price in the newest snapshot. */
interface CurrentPrice {
  gpu: string;
  onDemandRate: Rate;
  marketMedian: Micro | null;
  listings: number;
  /** Date of the snapshot, YYYY-MM-DD. */
  snapshot: string;
}

interface Catalogue {
  /** Models in catalogue order. Regions and templates are in catalogue order too. */
  gpuModels: readonly GpuModel[];
  regions: readonly Region[];
  templates: readonly Template[];
  /** Prices by model. */
  prices: ReadonlyMap<string, CurrentPrice>;
  /** Date of the newest snapshot, YYYY-MM-DD. */
  marketSnapshot: string;
}

/** The public data at one point in time. */
export interface PublicData {
  catalogue: Catalogue;
  offers: OfferIndex;
}

/** Number of hosts read per query, low enough that requests are handled between queries. */
const HOSTS_PER_PAGE = 1_000;
/** Number of running instances read per query. */
const RUNNING_PER_PAGE = 5_000;
/**
 * Minimum time between the starts of two reloads, in milliseconds, so that several changes are read together. Requests
 * don't wait for this.
 */
const RELOAD_PAUSE_MS = 100;

/**
 * Caches the public data: the catalogue, prices and hosts. A change notice, or a write by this process, marks the rows
 * it names as stale, and they are read again before the next response. If any host may have changed, all hosts are read
 * again in the background, and responses use the previous data in the meantime. Running instances are checked first, so
 * that rented machines disappear from the offers immediately. While notices aren't being received, and until everything
 * has been read again afterwards, cached data isn't used.
 */
export class Inventory {
  readonly #db: Database;
  #data: PublicData | null = null;
  #version = 0;
  /** Hosts whose rows may have changed since they were read. */
  #stale = new Set<string>();
  #isCatalogueStale = true;
  #isCatalogueRead = false;
  #isAllStale = true;
  #running: Promise<void> | null = null;
  #queued: Promise<void> | null = null;
  #soon: NodeJS.Timeout | null = null;
  /** When the last reload started, on the performance.now() clock. */
  #startedAt = Number.NEGATIVE_INFINITY;
  /**
   * Hosts being read by id. During a paged read of all hosts, this also contains the hosts read by id since the paged
   * read started.
   */
  #readByName = new Set<string>();
  #isPageRead = false;
  #background: Promise<void> | null = null;
  /** Whether any host may have changed since the background read started. */
  #isBehind = false;
  /** Whether readers are waiting for all hosts. If so, the background read stops and leaves the reading to them. */
  #isUrgent = false;

  constructor(db: Database) {
    this.#db = db;
    db.notices.subscribe({
      onNotice: (notice) => this.#note(notice),
      onLost: (loss) => (loss === 'peer' ? this.#rereadAll() : this.#markAllStale()),
    });
  }

  /**
   * Changes whenever the data does. Anything derived from the inventory stays valid as long as this is unchanged and
   * `isCurrent` is true.
   */
  get version(): number {
    return this.#version;
  }

  /** Whether the next response can be sent without first reading any changes. */
  get isCurrent(): boolean {
    return this.#db.notices.isListening && this.#running === null && !this.#isStale;
  }

  /**
   * Returns data that includes everything this process had committed before the call, and everything named in notices
   * received from other processes by then. Changes still being read in the background are included once `readInFull`
   * resolves.
   */
  async current(): Promise<PublicData> {
    if (!this.isCurrent) {
      await this.#db.notices.ready();
      if (this.#isStale) await this.#reload();
      else await this.#running;
    }
    return this.latest;
  }

  /**
   * The data as last read. Used within transactions, which must not wait for a read that might need their connection.
   * Available only after the first call to `current`.
   */
  get latest(): PublicData {
    return required(this.#data, 'inventory, which has not been read yet');
  }

  /** Like `current`, but doesn't wait for stale hosts to be read. */
  async catalogue(): Promise<Catalogue> {
    const isStale = this.#isCatalogueStale || this.#isAllStale || this.#isCatalogueRead;
    if (this.#data !== null && !isStale && this.#db.notices.isListening) return this.#data.catalogue;
    return (await this.current()).catalogue;
  }

  /**
   * Returns a template, or null if it doesn't exist. Rentals depend on templates, so while notices aren't being
   * received, the template is read from the database.
   */
  async template(slug: string): Promise<Template | null> {
    if (!this.#db.notices.isListening) return this.#db.prisma.template.findUnique({ where: { slug } });
    return (await this.catalogue()).templates.find((template) => template.slug === slug) ?? null;
  }

  /** Resolves once no background read is in progress. */
  async readInFull(): Promise<void> {
    while (this.#background !== null) await this.#background;
  }

  get #isStale(): boolean {
    return this.#isAllStale || this.#isCatalogueStale || this.#stale.size > 0;
  }

  #note(notice: Notice): void {
    if (notice.table === 'instance') this.#markStale([notice.machine]);
    else if (notice.table === 'machine' && notice.ids !== undefined) this.#markStale(notice.ids);
    else if (notice.table === 'machine') this.#rereadAll();
    else if (notice.table === 'catalogue') {
      this.#isCatalogueStale = true;
      this.#version += 1;
      this.#reloadSoon();
    }
    // Nothing needs to be read again, but public responses include the re-check, the keys and the roots.
    else if (notice.table === 'market_recheck' || notice.table === 'proof') this.#version += 1;
  }

  #markStale(hostIds: Iterable<string>): void {
    const before = this.#stale.size;
    for (const id of hostIds) this.#stale.add(id);
    if (this.#stale.size === before) return;
    this.#version += 1;
    this.#reloadSoon();
  }

  #markAllStale(): void {
    this.#isAllStale = true;
    this.#version += 1;
    this.#reloadSoon();
  }

  /**
   * Reads stale data ahead of the next request, so that the request doesn't have to wait for it. Has no effect before
   * the first load.
   */
  #reloadSoon(): void {
    if (this.#data === null || this.#soon !== null) return;
    const reload = () => {
      this.#soon = null;
      // If this fails, the next reader retries and reports the error.
      if (this.#isStale && this.#db.notices.isListening) this.#reload().catch(() => {});
    };
    const pause = this.#startedAt + RELOAD_PAUSE_MS - performance.now();
    if (pause <= 0) reload();
    else this.#soon = setTimeout(reload, pause).unref();
  }

  /**
   * Reads the data that is stale at the time of the call. Waiting for a read in progress wouldn't be enough, because it
   * may have started before the change.
   */
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
    // While notices aren't being received, a change made after this read would be missed.
    this.#isAllStale = !this.#db.notices.isListening;
    try {
      if (this.#data === null) this.#data = await readData(this.#db);
      else {
        if (isCatalogue || isAll) await this.#readCatalogue();
        const doubtful = isAll ? await this.#readAllNow() : [];
        await this.#readHosts([...stale, ...doubtful]);
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
    const { offers } = this.latest;
    offers.reprice(pricedModels(catalogue));
    this.#data = { catalogue, offers };
  }

  async #readHosts(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#readByName.add(id);
    for (let at = 0; at < ids.length; at += HOSTS_PER_PAGE) {
      const some = ids.slice(at, at + HOSTS_PER_PAGE);
      const query = { name: 'offered-some', text: SOME_SQL, values: [some] };
      const { rows } = await this.#db.pool.query<HostRow>(query);
      const hosts = new Map(rows.map((row) => [row.hostId, offeredHost(row)]));
      for (const id of some) this.#place(id, hosts.get(id) ?? null);
    }
    if (!this.#isPageRead) this.#readByName.clear();
  }

  #place(id: string, host: OfferedHost | null): void {
    if (host === null) this.latest.offers.remove(id);
    else this.latest.offers.put(host);
  }

  /** Reads all hosts again, because any of them may have changed. */
  #rereadAll(): void {
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
    // If the background read fails, the hosts are read before the next response, which then reports any error.
    this.#background ??= this.#keepUp()
      .catch(() => this.#markAllStale())
      .finally(() => {
        this.#background = null;
      });
  }

  async #keepUp(): Promise<void> {
    while (this.#isBehind) {
      this.#isBehind = false;
      this.#markStale(await this.#readAllHosts(() => this.#isUrgent));
      // Statements sent by a gateway before it crashed may have been committed after the first check.
      await this.#findTaken();
    }
  }

  async #readAllNow(): Promise<string[]> {
    this.#isUrgent = true;
    try {
      // The background read must not overwrite newer pages, so it is awaited here. It stops after its current page.
      await this.#background;
      this.#isBehind = false;
      return await this.#readAllHosts(() => false);
    } finally {
      this.#isUrgent = false;
    }
  }

  /** Marks a host as stale if one of its machines has a running instance but is still offered as free. */
  async #findTaken(): Promise<void> {
    for (let last = ''; ; ) {
      const query = { name: 'offered-but-running', text: RUNNING_SQL, values: [last] };
      const { rows } = await this.#db.pool.query<RunningRow>(query);
      const isNews = ({ hostId, bits, yields }: RunningRow) => {
        const host = this.latest.offers.host(hostId);
        if (host === null || (host.taken & bits) === bits) return false;
        return !(yields && host.yielding.includes(bits));
      };
      this.#markStale(rows.filter(isNews).map(({ hostId }) => hostId));
      const end = rows.at(-1);
      if (end === undefined || rows.length < RUNNING_PER_PAGE) return;
      last = end.machineId;
    }
  }

  /**
   * Reads all hosts in pages, or until `isLeft` returns true. Returns the hosts that must be read by id afterwards:
   * hosts that were read by id in the meantime, because their page may be older, and offered hosts that appeared on no
   * page, because they have since been removed or added.
   */
  async #readAllHosts(isLeft: () => boolean): Promise<string[]> {
    const met = new Set<string>();
    const once = deduplicator();
    const doubtful: string[] = [];
    this.#isPageRead = true;
    try {
      for (let last = ''; ; ) {
        const query = { name: 'offered-page', text: PAGE_SQL, values: [last] };
        const { rows } = await this.#db.pool.query<HostRow>(query);
        if (isLeft()) return [];
        for (const row of rows) {
          met.add(row.hostId);
          const host = offeredHost(row, once);
          if (isSameHost(this.latest.offers.host(row.hostId), host)) continue;
          this.#version += 1;
          if (this.#readByName.has(row.hostId)) doubtful.push(row.hostId);
          else this.#place(row.hostId, host);
        }
        const end = rows.at(-1);
        if (end === undefined || rows.length < HOSTS_PER_PAGE) break;
        last = end.hostId;
      }
    } finally {
      this.#isPageRead = false;
    }
    for (const id of this.latest.offers.hostIds()) if (!met.has(id)) doubtful.push(id);
    return doubtful;
  }
}

export interface HostRow extends Omit<OfferedHost, 'layout' | 'diskLeftGb' | 'taken' | 'yielding'> {
  gpu: string;
  numGpus: number;
  /** See HOSTS. */
  layout: string | null;
  state: MachineCondition;
  usedDiskGb: number;
  /** Null if no such instance is running. */
  taken: GpuBits | null;
  yielding: GpuBits[] | null;
}

/** Selects the fields of a HostRow from a row of HOSTS. */
export const HOST_COLUMNS = `
  id as "hostId", gpu, num_gpus as "numGpus", region, cpu, vcpus, ram_gb as "ramGb", disk_gb as "diskGb",
  net_down_mbps as down, net_up_mbps as up, ports, pcie, nvlink, cuda_max as "cudaMax", reliability, demo, condition as state,
  has_agent as "hasAgent", fuse, used_disk_gb as "usedDiskGb", taken, yielding, layout`;

const SOME_SQL = `select ${HOST_COLUMNS} from (${HOSTS}) host where id = any($1)`;
/** The limit is applied before the rest is computed, because PostgreSQL underestimates how many machines are hosts. */
const PAGE = `(select * from machine where host_id = id and id > $1 order by id limit ${HOSTS_PER_PAGE}) machine`;
const PAGE_SQL = `select ${HOST_COLUMNS} from (${hostsFrom(PAGE)}) host order by id`;

interface RunningRow {
  machineId: string;
  hostId: string;
  bits: GpuBits;
  yields: boolean;
}

/** Reads running instances ordered by machine, since each machine has at most one. */
const RUNNING_SQL = `
  select machine_id as "machineId", coalesce(host_id, machine_id) as "hostId", ${GPU_BITS} as bits, mode = 'INTERRUPTIBLE' as yields
  from instance where status = 'RUNNING' and machine_id > $1 order by machine_id limit ${RUNNING_PER_PAGE}`;

const PRICES_SQL = `
  select gpu, on_demand_rate as "onDemandRate", median_micro as "marketMedian", listings,
    to_char(snapshot_date, 'YYYY-MM-DD') as snapshot
  from (${CURRENT_PRICES}) price`;

async function readData(db: Database): Promise<PublicData> {
  const catalogue = await readCatalogue(db);
  return { catalogue, offers: new OfferIndex(pricedModels(catalogue), await readHosts(db)) };
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
  // If a sheet was published between the two statements, its date must not be combined with the previous sheet's
  // prices.
  const marketSnapshot = prices.rows[0]?.snapshot ?? only(newest.rows).date;
  return { gpuModels, regions, templates, prices: byModel, marketSnapshot };
}

/**
 * Reads all hosts in pages, so that requests are handled in between. Changes made during the read are reported by
 * notices and then read again.
 */
async function readHosts({ pool }: Database): Promise<OfferedHost[]> {
  const hosts: OfferedHost[] = [];
  const once = deduplicator();
  for (let last = ''; ; ) {
    const { rows } = await pool.query<HostRow>({ name: 'offered-page', text: PAGE_SQL, values: [last] });
    for (const row of rows) {
      const host = offeredHost(row, once);
      if (host !== null) hosts.push(host);
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < HOSTS_PER_PAGE) return hosts;
    last = end.hostId;
  }
}

/** Returns a function that makes equal strings share memory, because hosts have few distinct regions and CPUs. */
function deduplicator(): (text: string) => string {
  const texts = new Map<string, string>();
  return (text) => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
}

/** Whether two hosts are equal. Null means that none of the host's machines is offered. */
function isSameHost(one: OfferedHost | null, other: OfferedHost | null): boolean {
  if (one === null || other === null) return one === other;
  const fields = Object.keys(one) as (keyof OfferedHost)[];
  return (
    fields.every((field) => field === 'yielding' || one[field] === other[field]) &&
    isSameList(one.yielding, other.yielding)
  );
}

function isSameList(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, place) => value === other[place]);
}

/** Cached layouts, by definition. Layouts beyond the maximum are rebuilt when needed. */
const layouts = new LRUCache<string, Layout>({ max: 10_000 });

function layoutOfRow({ gpu, numGpus, layout }: HostRow): Layout {
  const text = layout ?? `${numGpus} ${gpu}`;
  const known = layouts.get(text);
  if (known !== undefined) return known;
  const made =
    layout === null ? wholeLayout(gpu, numGpus) : layoutOf(...(JSON.parse(layout) as Parameters<typeof layoutOf>));
  layouts.set(text, made);
  return made;
}

/**
 * Returns the host as it is offered, or null if none of its machines is offered. The object is built field by field,
 * because 100,000 objects that share one shape take a third of the memory of the same objects built by spreading.
 */
export function offeredHost(row: HostRow, once = (text: string) => text): OfferedHost | null {
  if (row.state !== 'LISTED') return null;
  const host: OfferedHost = {
    hostId: row.hostId,
    layout: layoutOfRow(row),
    region: once(row.region),
    cpu: once(row.cpu),
    vcpus: row.vcpus,
    ramGb: row.ramGb,
    diskGb: row.diskGb,
    diskLeftGb: diskLeftGb(row.diskGb, row.usedDiskGb),
    down: row.down,
    up: row.up,
    ports: row.ports,
    pcie: row.pcie,
    nvlink: row.nvlink,
    cudaMax: once(row.cudaMax),
    reliability: row.reliability,
    demo: row.demo,
    hasAgent: row.hasAgent,
    fuse: row.fuse,
    taken: row.taken ?? 0,
    yielding: row.yielding ?? NONE,
  };
  return isAnyOffered(host) ? host : null;
}

const NONE: readonly GpuBits[] = [];

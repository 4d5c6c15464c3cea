import { LRUCache } from 'lru-cache';
import type { Database } from '../../database/database.js';
import type { Notice } from '../../database/notices.js';
import { holds, networkList } from '../../std/networks.js';
import type { InstanceStatus } from '../kernel/lifecycle.js';
import type { Clock, Instant } from '../kernel/time.js';
import type { WebSite } from '../kernel/web-site.js';
import { firstPortOf, type PortsRow } from './ports.js';
import { hashWebPass } from './rules/web-pass.js';

/** Maximum number of cached instances, and of cached cookies. */
const MAX_CACHED = 20_000;

/** A visit by an admitted visitor. */
export interface Visit {
  accountId: string;
  instanceId: string;
  port: number;
  isRunning: boolean;
  /** The API key that the visitor's cookie belongs to. Null if the port is open to all visitors. */
  keyId: string | null;
  /** When the visit ends. Null if it lasts until the port is closed. */
  expiresAt: Instant | null;
}

interface InstanceFacts extends PortsRow {
  accountId: string;
  status: InstanceStatus;
  openPorts: number[];
}

interface Pass {
  hash: Buffer;
  instanceId: string;
  accountId: string;
  port: number;
  keyId: string;
  /** When the pass or its key expires, whichever is earlier. */
  expiresAt: Instant;
  /** Networks that the key is accepted from. Null means all networks. */
  networks: readonly string[] | null;
}

/**
 * Decides which visitors may access which ports. While change notices arrive, rows are cached, so that a visit doesn't
 * need a database statement.
 */
export class Visits {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #instances = new LRUCache<string, { facts: InstanceFacts | null }>({ max: MAX_CACHED });
  readonly #passes = new LRUCache<string, Pass>({ max: MAX_CACHED });
  #changes = 0;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    db.notices.subscribe({ onNotice: (notice) => this.#note(notice), onLost: () => this.#forgetAll() });
  }

  /** Number of times that cached rows have been dropped. A row read before the last time may be stale. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Returns the visit, or null if the visitor is not admitted, whether or not the instance exists. `passes` are the
   * visitor's cookies, and `address` is the visitor's IP address.
   */
  async admit(site: WebSite, passes: readonly string[], address: string): Promise<Visit | null> {
    const facts = await this.#factsOf(site.instanceId);
    if (facts === null || facts.status === 'DESTROYED') return null;
    const port = site.port ?? firstPortOf(facts);
    if (port === null) return null;
    const { accountId, status } = facts;
    const visit = { accountId, instanceId: site.instanceId, port, isRunning: status === 'RUNNING' };
    if (facts.openPorts.includes(port)) return { ...visit, keyId: null, expiresAt: null };
    const mayEnter = (pass: Pass) =>
      pass.instanceId === site.instanceId &&
      pass.port === port &&
      pass.accountId === accountId &&
      pass.expiresAt > this.#clock.now() &&
      (pass.networks === null || holds(networkList(pass.networks), address));
    const hashes = passes.flatMap((text) => hashWebPass(text) ?? []);
    const pass = this.#cachedOf(hashes).find(mayEnter) ?? (await this.#readPasses(hashes)).find(mayEnter);
    return pass === undefined ? null : { ...visit, keyId: pass.keyId, expiresAt: pass.expiresAt };
  }

  /** Returns the port that a site stands for, regardless of the visitor, or null if the instance has no ports. */
  async portOf({ instanceId, port }: WebSite): Promise<number | null> {
    if (port !== null) return port;
    const facts = await this.#factsOf(instanceId);
    return facts === null ? null : firstPortOf(facts);
  }

  async #factsOf(instanceId: string): Promise<InstanceFacts | null> {
    const { notices } = this.#db;
    const known = this.#instances.get(instanceId);
    if (known !== undefined && notices.isListening) return known.facts;
    return this.#read(
      async () => {
        const query = { name: 'web-facts', text: FACTS, values: [instanceId] };
        const { rows } = await this.#db.pool.query<InstanceFacts>(query);
        return rows[0] ?? null;
      },
      (facts) => this.#instances.set(instanceId, { facts }),
    );
  }

  #cachedOf(hashes: readonly Buffer[]): Pass[] {
    if (!this.#db.notices.isListening) return [];
    return hashes.flatMap((hash) => this.#passes.get(nameOf(hash)) ?? []);
  }

  /** Reads all passes with one statement, because cookies planted by a neighbouring site may precede the valid one. */
  async #readPasses(hashes: readonly Buffer[]): Promise<Pass[]> {
    if (hashes.length === 0) return [];
    return this.#read(
      async () => {
        const { rows } = await this.#db.pool.query<Pass>({ name: 'web-passes', text: PASSES, values: [hashes] });
        return rows;
      },
      // Invalid passes are not cached, because any client can send any number of them.
      (passes) => {
        for (const pass of passes) this.#passes.set(nameOf(pass.hash), pass);
      },
    );
  }

  /** Caches the result, unless a change may have happened during the read. */
  async #read<T>(read: () => Promise<T>, keep: (value: T) => void): Promise<T> {
    const { notices } = this.#db;
    const [seen, wasListening] = [this.#changes, notices.isListening];
    const value = await read();
    if (wasListening && notices.isListening && seen === this.#changes) keep(value);
    return value;
  }

  #note(notice: Notice): void {
    const { table } = notice;
    if (table === 'instance' || table === 'container' || table === 'open_port') {
      this.#changes += 1;
      this.#instances.delete(notice.id);
    } else if (table === 'api_key' || table === 'account') {
      this.#changes += 1;
      const whose = table === 'api_key' ? 'keyId' : 'accountId';
      for (const [name, pass] of this.#passes.entries()) if (pass[whose] === notice.id) this.#passes.delete(name);
    }
  }

  #forgetAll(): void {
    this.#changes += 1;
    this.#instances.clear();
    this.#passes.clear();
  }
}

const FACTS = `
  select account_id as "accountId", status, ports, image_ports as "imagePorts",
    array(select port from open_port where open_port.instance_id = instance.id) as "openPorts"
  from instance join container on container.instance_id = instance.id where instance.id = $1`;

/** Returns the cache key. */
function nameOf(hash: Buffer): string {
  return hash.toString('latin1');
}

const PASSES = `
  select web_pass.hash, web_pass.instance_id as "instanceId", web_pass.port, key_id as "keyId", account_id as "accountId",
    least(web_pass.expires_at, api_key.expires_at) as "expiresAt", networks
  from web_pass join api_key on api_key.id = key_id join account on account.id = account_id
  where web_pass.hash = any($1::bytea[]) and not is_link and revoked_at is null and suspended_at is null`;

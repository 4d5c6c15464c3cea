import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '../../database/faults.js';
import type { Notice } from '../../database/notices.js';
import type { WebSite } from '../../domain/kernel/web-site.js';
import type { WebPortDeps } from '../../domain/web-ports/deps.js';
import type { Visit } from '../../domain/web-ports/visits.js';

/**
 * Maximum concurrent requests and WebSockets per instance. It is lower than an instance's tunnel limit, so that SSH
 * remains possible.
 */
const MAX_PER_INSTANCE = 200;
/** Maximum per client network. It is generous because many people may share an address. */
const MAX_PER_NETWORK = 200;
const MAX_EXCHANGES = 4_000;
/**
 * Interval between checks of exchanges. It is also the longest that an exchange opened with a cookie can outlive the
 * cookie's expiry.
 */
const CHECK_EVERY_MS = 30_000;
/** Pause before checking again while the database can't determine which visitors may stay. */
const RECHECK_MS = 500;

/** An in-flight request, or an open WebSocket. */
export interface Exchange {
  visit: Visit;
  site: WebSite;
  /** Cookies sent with the request. */
  passes: readonly string[];
  /** The visitor's IP address, followed by its network. */
  address: string;
  network: string;
  /** Disconnects the exchange. */
  end(): void;
}

/** This process's open exchanges with visitors. Each ends as soon as it would no longer be allowed. */
export class Exchanges {
  readonly #deps: Pick<WebPortDeps, 'db' | 'clock' | 'visits'>;
  readonly #onFault: (error: unknown) => void;
  readonly #open = new Set<Exchange>();
  /** Number of open exchanges by instance and by network. */
  readonly #counts = new Map<string, number>();
  readonly #unsubscribe: () => void;
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(deps: Pick<WebPortDeps, 'db' | 'clock' | 'visits'>, onFault: (error: unknown) => void) {
    this.#deps = deps;
    this.#onFault = onFault;
    this.#unsubscribe = deps.db.notices.subscribe({
      onNotice: (notice) => this.#onNotice(notice),
      onLost: () => this.#recheckAll([...this.#open]),
    });
    this.#timer = setInterval(() => this.#recheckExpired(), CHECK_EVERY_MS).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Begins an exchange. Returns false if too many are open, or after `close`. Otherwise, the caller must call `end`
   * later.
   */
  begin(exchange: Exchange): boolean {
    const { visit, network } = exchange;
    if (this.#isClosed || this.#open.size >= MAX_EXCHANGES || this.#count(visit.instanceId) >= MAX_PER_INSTANCE)
      return false;
    if (this.#count(network) >= MAX_PER_NETWORK) return false;
    this.#open.add(exchange);
    this.#add(exchange, 1);
    return true;
  }

  end(exchange: Exchange): void {
    if (this.#open.delete(exchange)) this.#add(exchange, -1);
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    clearInterval(this.#timer);
    for (const exchange of this.#open) exchange.end();
  }

  #count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #add({ visit, network }: Exchange, change: number): void {
    for (const name of [visit.instanceId, network]) {
      const count = this.#count(name) + change;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }

  #onNotice(notice: Notice): void {
    const open = [...this.#open];
    const { table } = notice;
    if (table === 'instance' || table === 'open_port') {
      this.#recheckAll(open.filter(({ visit }) => visit.instanceId === notice.id));
    } else if (table === 'api_key') {
      this.#recheckAll(open.filter(({ visit }) => visit.keyId === notice.id));
    } else if (table === 'account') {
      this.#recheckAll(open.filter(({ visit }) => visit.accountId === notice.id && visit.keyId !== null));
    }
  }

  #recheckExpired(): void {
    const now = this.#deps.clock.now();
    this.#recheckAll([...this.#open].filter(({ visit }) => visit.expiresAt !== null && visit.expiresAt <= now));
  }

  /** Ends the exchange unless it is still allowed. */
  recheck(exchange: Exchange): void {
    void this.#recheck(exchange).catch(this.#onFault);
  }

  #recheckAll(exchanges: readonly Exchange[]): void {
    for (const exchange of exchanges) this.recheck(exchange);
  }

  async #recheck(exchange: Exchange): Promise<void> {
    while (this.#open.has(exchange)) {
      try {
        await this.#deps.db.notices.ready();
        const visit = await this.#deps.visits.admit(exchange.site, exchange.passes, exchange.address);
        if (visit?.isRunning && visit.port === exchange.visit.port) exchange.visit = visit;
        else exchange.end();
        return;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        await sleep(RECHECK_MS, undefined, { ref: false });
      }
    }
  }
}

import type { Notice } from '../database/notices.js';
import { type Opener, readReach } from '../domain/fleet/reach.js';
import type { KernelDeps } from '../domain/kernel/deps.js';

/** Pause before checking again while access rights are unknown because the database is unreachable. */
const CHECK_AGAIN_MS = 500;

/** An open connection to an instance. */
export interface Access {
  opener: Opener;
  instanceId: string;
  /** Whether the connection may stay open after the instance has stopped, as when reading logs. */
  outlivesStop: boolean;
}

export interface ReachWatchOptions<T extends Access> {
  deps: Pick<KernelDeps, 'db' | 'clock'>;
  /** The currently open connections. */
  open: Iterable<T> & { has(access: T): boolean };
  /** Called with the connections whose opener may no longer reach the instance. */
  onOver(accesses: readonly T[]): void;
}

/** Checks whether open connections may continue whenever their instance, account or key has changed. */
export class ReachWatch<T extends Access> {
  readonly #options: ReachWatchOptions<T>;
  readonly #unsubscribe: () => void;

  constructor(options: ReachWatchOptions<T>) {
    this.#options = options;
    this.#unsubscribe = options.deps.db.notices.subscribe({
      onNotice: (notice) => this.#onNotice(notice),
      onLost: () => this.check([...options.open]),
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Checks all connections with the same opener and instance together, retrying until the database responds. */
  check(accesses: readonly T[]): void {
    const groups = new Map<string, [T, ...T[]]>();
    for (const access of accesses) {
      const name = JSON.stringify([access.opener, access.instanceId, access.outlivesStop]);
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [access]);
      else group.push(access);
    }
    for (const group of groups.values()) this.#checkAlike(group);
  }

  #checkAlike(group: readonly [T, ...T[]]): void {
    const { deps, open, onOver } = this.#options;
    const { opener, instanceId, outlivesStop } = group[0];
    readReach(deps, opener, instanceId).then(
      ({ state }) => {
        const isOver = state === 'unknown' || state === 'destroyed' || (state === 'stopped' && !outlivesStop);
        if (isOver) onOver(group);
      },
      () => {
        const again = () => this.check(group.filter((access) => open.has(access)));
        setTimeout(again, CHECK_AGAIN_MS).unref();
      },
    );
  }

  #onNotice(notice: Notice): void {
    const concerns = concernedBy(notice);
    if (concerns !== null) this.check([...this.#options.open].filter(concerns));
  }
}

/** Returns a predicate that matches the connections a change may end, or null if it can't end any. */
function concernedBy(notice: Notice): ((access: Access) => boolean) | null {
  switch (notice.table) {
    case 'instance':
      return ({ instanceId }) => instanceId === notice.id;
    case 'account':
      return ({ opener }) => opener.accountId === notice.id;
    case 'api_key':
      return ({ opener }) => opener.apiKeyId === notice.id;
    case 'ssh_key':
      return ({ opener }) => opener.sshKeyId === notice.id;
    default:
      return null;
  }
}

import { LRUCache } from 'lru-cache';
import { type Caller, recordKeyUses } from '../domain/accounts/api-keys.js';
import { wideNetworkOf } from '../domain/kernel/client-network.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import type { Instant } from '../domain/kernel/time.js';
import { type KeyNetwork, recordKeyNetworks } from '../domain/webhooks/key-networks.js';

const FLUSH_EVERY_MS = 30_000;
/** Maximum number of (key, network) pairs to remember. Also the maximum number waiting to be stored. */
const MAX_PLACES = 20_000;

/**
 * Collects the times at which keys were last used and stores them every half minute. Times that haven't been stored are
 * lost if the process exits.
 */
export interface KeyUses {
  record(caller: Caller): void;
  close(): Promise<void>;
}

export function createKeyUses(deps: Pick<KernelDeps, 'db' | 'clock'>, onFault: (error: unknown) => void): KeyUses {
  let uses = new Map<string, Instant>();
  /** Pairs of a key and a network that are stored or waiting to be stored. */
  const known = new LRUCache<string, true>({ max: MAX_PLACES });
  let places = new Map<string, KeyNetwork>();
  const flush = async () => {
    if (uses.size === 0) return;
    const [flushed, found] = [uses, [...places.values()]];
    uses = new Map();
    places = new Map();
    await recordKeyUses(deps, flushed).catch(onFault);
    if (found.length > 0) await recordKeyNetworks(deps, found).catch(onFault);
  };
  const timer = setInterval(flush, FLUSH_EVERY_MS);
  timer.unref();
  return {
    record: ({ accountId, keyId, address }) => {
      const at = deps.clock.now();
      uses.set(keyId, at);
      const network = wideNetworkOf(address);
      const name = `${keyId} ${network}`;
      if (known.has(name) || places.size >= MAX_PLACES) return;
      known.set(name, true);
      places.set(name, { accountId, keyId, network, address, at });
    },
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}

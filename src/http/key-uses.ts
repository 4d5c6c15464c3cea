import { noteKeyUses } from '../domain/accounts/api-keys.js';
import type { Deps } from '../domain/deps.js';
import type { Instant } from '../domain/rules/time.js';

const FLUSH_EVERY_MS = 30_000;

/** Collects when keys were last used and writes it every half minute; unwritten times are lost with the process. */
export interface KeyUses {
  note(keyId: string): void;
  close(): Promise<void>;
}

export function createKeyUses(deps: Deps, onFault: (error: unknown) => void): KeyUses {
  let uses = new Map<string, Instant>();
  const flush = async () => {
    if (uses.size === 0) return;
    const noted = uses;
    uses = new Map();
    await noteKeyUses(deps, noted).catch(onFault);
  };
  const timer = setInterval(flush, FLUSH_EVERY_MS);
  timer.unref();
  return {
    note: (keyId) => uses.set(keyId, deps.clock.now()),
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}

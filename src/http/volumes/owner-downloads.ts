import type { ServerResponse } from 'node:http';
import { type Caller, isAccepted } from '../../domain/accounts/api-keys.js';
import type { AccountsDeps } from '../../domain/accounts/deps.js';

/**
 * Delay before a download is first checked. Most downloads end sooner. For the others, the check detects a key that was
 * revoked during its lookup.
 */
const CHECKED_AFTER_MS = 1_000;
/** Interval between attempts while the database can't be queried. */
const CHECK_AGAIN_MS = 500;

/**
 * Tracks API-key downloads that are in progress or waiting for a slot, because a download may take hours. Each is
 * aborted when its key is revoked or expires, or when its account is suspended. An upload is instead checked once all
 * of it has arrived, before anything is stored.
 */
export class OwnerDownloads {
  readonly #deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>;
  readonly #open = new Map<ServerResponse, Caller>();

  constructor(deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>) {
    this.#deps = deps;
    deps.db.notices.subscribe({
      onNotice: (notice) => {
        if (notice.table === 'api_key' || notice.table === 'account')
          this.#check(({ keyId, accountId }) => keyId === notice.id || accountId === notice.id);
      },
      onLost: () => this.#check(() => true),
    });
  }

  add(response: ServerResponse, caller: Caller): void {
    // The client may have disconnected during the lookup.
    if (response.destroyed) return;
    this.#open.set(response, caller);
    const timer = setTimeout(() => this.#check((other) => other === caller), CHECKED_AFTER_MS).unref();
    response.once('close', () => {
      clearTimeout(timer);
      this.#open.delete(response);
    });
  }

  /** Checks the affected downloads with one query per key. */
  #check(concerns: (caller: Caller) => boolean): void {
    const callers = [...this.#open.values()].filter(concerns);
    for (const caller of new Map(callers.map((each) => [each.keyId, each])).values())
      isAccepted(this.#deps, caller).then(
        (isStillAccepted) => isStillAccepted || this.#cut(caller.keyId),
        () => setTimeout(() => this.#check(({ keyId }) => keyId === caller.keyId), CHECK_AGAIN_MS).unref(),
      );
  }

  #cut(keyId: string): void {
    for (const [response, caller] of this.#open) if (caller.keyId === keyId) response.destroy();
  }
}

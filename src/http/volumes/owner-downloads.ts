import type { ServerResponse } from 'node:http';
import { type Caller, isAccepted } from '../../domain/accounts/api-keys.js';
import type { Deps } from '../../domain/deps.js';

/** Most downloads end before; for the others, a key that ended during its lookup is noticed then. */
const CHECKED_AFTER_MS = 1_000;
/** Pause while the database can't be queried. */
const CHECK_AGAIN_MS = 500;

/**
 * Downloads by API keys, in progress or waiting for their turn: one may take hours. Each is cut when its key ends or
 * its account is suspended. An upload is checked when all of it has arrived, before anything is stored.
 */
export class OwnerDownloads {
  readonly #deps: Deps;
  readonly #open = new Map<ServerResponse, Caller>();

  constructor(deps: Deps) {
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
    // Its client may have left during the lookup.
    if (response.destroyed) return;
    this.#open.set(response, caller);
    const timer = setTimeout(() => this.#check((other) => other === caller), CHECKED_AFTER_MS).unref();
    response.once('close', () => {
      clearTimeout(timer);
      this.#open.delete(response);
    });
  }

  /** Queries once for each key. */
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

import { performance } from 'node:perf_hooks';
import { MAX_WANTED_TUNNELS, type WantedTunnel } from '../../agent-protocol/protocol.js';
import type { Notices } from '../../database/notices.js';

/** Maximum number of machines for which tunnel requests are kept. */
const MAX_MACHINES = 20_000;
/** Longer than a gateway waits for a tunnel it has requested. */
const LIFETIME_MS = 11_000;

interface TunnelRequest extends WantedTunnel {
  untilMs: number;
}

/**
 * Requests for agents to dial tunnels. Each request goes out to all gateways as a change notice. A gateway hands it
 * once to the agent that polls it, and the agent ignores requests it has already handled. Nothing is stored, so a
 * request that isn't picked up within seconds is lost.
 */
export class TunnelRequests {
  readonly #notices: Notices;
  readonly #requests = new Map<string, TunnelRequest[]>();
  readonly #onRequest: (machineId: string) => void;

  /** Calls `onRequest` for each machine with a new request. */
  constructor(notices: Notices, onRequest: (machineId: string) => void) {
    this.#notices = notices;
    this.#onRequest = onRequest;
    notices.subscribe({
      onNotice: (notice) => {
        if (notice.table === 'stream') this.#add(notice.machine, [{ id: notice.id, url: notice.url }]);
      },
    });
  }

  /** Sends the request to every gateway. */
  publish(machineId: string, { id, url }: WantedTunnel): void {
    this.#notices.publish([{ table: 'stream', machine: machineId, id, url }]);
  }

  /** Returns the machine's requests that haven't been taken in this process yet. */
  take(machineId: string): WantedTunnel[] {
    const requests = this.#requests.get(machineId);
    if (requests === undefined) return [];
    this.#requests.delete(machineId);
    const now = performance.now();
    return requests.filter(({ untilMs }) => untilMs > now).map(({ id, url }) => ({ id, url }));
  }

  has(machineId: string): boolean {
    return this.#requests.has(machineId);
  }

  /** Puts back requests that were taken but didn't reach the agent. */
  putBack(machineId: string, requests: readonly WantedTunnel[]): void {
    if (requests.length > 0) this.#add(machineId, requests);
  }

  #add(machineId: string, added: readonly WantedTunnel[]): void {
    const requests = this.#requests.get(machineId) ?? [];
    const untilMs = performance.now() + LIFETIME_MS;
    this.#requests.delete(machineId);
    this.#requests.set(
      machineId,
      [...requests, ...added.map((request) => ({ ...request, untilMs }))].slice(-MAX_WANTED_TUNNELS),
    );
    this.#dropExpired();
    this.#onRequest(machineId);
  }

  /** Drops expired requests. In the map, the oldest machines come first. */
  #dropExpired(): void {
    const now = performance.now();
    for (const [machineId, requests] of this.#requests) {
      if (this.#requests.size <= MAX_MACHINES && (requests.at(-1)?.untilMs ?? 0) > now) break;
      this.#requests.delete(machineId);
    }
  }
}

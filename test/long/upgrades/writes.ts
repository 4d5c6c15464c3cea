import { setTimeout as sleep } from 'node:timers/promises';
import type { Renter } from './growth.js';

/** Pause between the rentals of one renter. */
const PAUSE_MS = 20;

/** Rents and destroys for each renter until the gateway ends or `stop`. */
export class Writes {
  /** Instances whose destruction was acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #renters: readonly Renter[];
  #isStopped = false;

  constructor(renters: readonly Renter[]) {
    this.#renters = renters;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(address: string): Promise<void> {
    this.#isStopped = false;
    let machines: string[] | undefined;
    while (machines === undefined) {
      const offers = await jsonOf(fetch(`${address}/v1/offers?limit=100`)).catch(() => null);
      // The gateway was killed.
      if (offers === null) return;
      machines = offers.body.data?.map((offer: { machine_id: string }) => offer.machine_id);
    }
    const free = machines;
    const share = Math.floor(free.length / this.#renters.length);
    await Promise.all(
      this.#renters.map((renter, index) => this.#rent(address, renter, free.slice(index * share, (index + 1) * share))),
    );
  }

  async #rent(address: string, { key }: Renter, machines: readonly string[]): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const send = (method: string, path: string, body?: object) =>
      jsonOf(fetch(`${address}/v1/instances${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) }));
    for (let next = 0; !this.#isStopped; next += 1) {
      try {
        const deployed = await send('POST', '', { machine_id: machines[next % machines.length], disk_gb: 10 });
        // A lost response to an earlier request may have left an instance there.
        if (deployed.status >= 400) continue;
        const { id } = deployed.body;
        if ((await send('DELETE', `/${id}`)).status < 400) this.acknowledged.push(id);
        await sleep(PAUSE_MS);
      } catch {
        // The gateway was killed.
        return;
      }
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a response of the API
export async function jsonOf(response: Promise<Response>): Promise<{ status: number; body: any }> {
  const { status, json } = await response.then((each) => ({ status: each.status, json: each.json() }));
  return { status, body: await json };
}

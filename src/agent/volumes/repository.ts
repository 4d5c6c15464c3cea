import type { VolumeAccess } from '../../agent-protocol/protocol.js';
import { deadline } from '../../std/deadline.js';
import type { Credentials } from './restic.js';

const ANSWERS_WITHIN_MS = 15_000;
const MAX_ANSWER_BYTES = 4_194_304;
const REFUSALS = new Set([401, 403, 410]);
const SHORT_ID = /^[a-f0-9]{8,64}$/;

export type OpenVolume = VolumeAccess['volumes'][number];

/**
 * Error that says why an operation on a volume failed. `unreachable`: the store gives no usable response, but may
 * later. `refused`: this host no longer holds the lease. `unreadable`: the store's content can't be restored. `full`:
 * the content does not fit into the volume. `host`: the host can't hold the volume. `failed`: anything else.
 */
export class VolumeFault extends Error {
  constructor(
    readonly kind: 'unreachable' | 'refused' | 'unreadable' | 'full' | 'host' | 'failed',
    message: string,
  ) {
    super(message);
  }
}

/** A volume's repository under one lease, as served by the gateway. Errors never contain the token. */
export class Repository {
  constructor(
    readonly gatewayUrl: string,
    readonly volume: OpenVolume,
  ) {}

  get credentials(): Credentials {
    const { lease, token, password } = this.volume;
    return { url: this.#url, user: String(lease), token, password };
  }

  /** Whether the repository exists. It doesn't before its first use. */
  async isMade(): Promise<boolean> {
    const status = await this.#request('config', async (answer) => answer.status);
    return status !== 404;
  }

  /** Returns the full id of a snapshot in the store. Rejects if it doesn't exist. */
  async snapshotId(short: string): Promise<string> {
    if (!SHORT_ID.test(short)) throw new VolumeFault('failed', 'restic reported no snapshot');
    const names = await this.#request('snapshots/', async (answer) => namesOf(await answer.text()));
    const id = names.find((name) => name.startsWith(short));
    if (id === undefined) throw new VolumeFault('failed', 'the new snapshot is missing from the store');
    return id;
  }

  get #url(): string {
    return `${this.gatewayUrl.replace(/\/+$/, '')}${this.volume.path}`;
  }

  async #request<T>(path: string, read: (answer: Response) => Promise<T>): Promise<T> {
    const { lease, token } = this.volume;
    const authorization = `Basic ${Buffer.from(`${lease}:${token}`).toString('base64')}`;
    const headers = { authorization, accept: 'application/vnd.x.restic.rest.v2' };
    const limit = deadline(ANSWERS_WITHIN_MS);
    try {
      const answer = await fetch(this.#url + path, { headers, redirect: 'error', signal: limit.signal });
      if (REFUSALS.has(answer.status)) throw new VolumeFault('refused', "the volume's lease has ended");
      if (!answer.ok && answer.status !== 404)
        throw new VolumeFault('unreachable', `the store returned HTTP ${answer.status}`);
      return await read(answer);
    } catch (error) {
      if (error instanceof VolumeFault) throw error;
      const { message, cause } = error as Error & { cause?: Error };
      throw new VolumeFault('unreachable', `the store is not responding: ${cause?.message || message}`);
    } finally {
      limit.clear();
    }
  }
}

/** Returns the names in a listing, in either version of the protocol. */
function namesOf(text: string): string[] {
  if (text.length > MAX_ANSWER_BYTES) throw new VolumeFault('failed', 'the snapshot list is too long');
  const read = JSON.parse(text) as unknown;
  if (!Array.isArray(read)) throw new VolumeFault('failed', 'the snapshot list is invalid');
  return read.map((each) => String((each as { name?: unknown } | null)?.name ?? each));
}

import { LRUCache } from 'lru-cache';
import { DomainError } from '../domain/kernel/errors.js';
import type { HubModel, ModelHub } from '../domain/models/hub.js';
import { deadline } from '../std/deadline.js';
import { fetchFault } from '../std/fetch-fault.js';
import { readBounded } from '../std/untrusted/read-bounded.js';

/** Time limit for reading a model, including connecting and redirects. */
const TIMEOUT_MS = 10_000;
/** Maximum size of a config.json, after decompression. */
const MAX_CONFIG_BYTES = 200_000;
/** The index begins with the size. The rest lists each tensor and may have many megabytes, so it isn't read. */
const INDEX_START_BYTES = 4_096;
/** The hub redirects to a model's new name. */
const MAX_REDIRECTS = 3;
const MAX_CACHED = 500;
/** Maximum total size of the cached models. */
const MAX_CACHED_BYTES = 32_000_000;
const CACHED_FOR_MS = 10 * 60_000;
/** Maximum number of models read at the same time. */
const MAX_IN_FLIGHT = 16;
const RETRY_AFTER_SECONDS = 10;
const MAX_STORED_BYTES = 1e15;
const TOTAL_SIZE = /^\s*\{\s*"metadata"\s*:\s*\{[^{}]*?"total_size"\s*:\s*(\d{1,16})(?:\.0+)?\s*[,}]/;

export interface HubOptions {
  /** Base URL of the hub, without a trailing slash. */
  url: string;
  /** Counts a read that a client causes. Throws rate_limited if it caused too many. */
  take(client: string): void;
  timeoutMs?: number;
}

/**
 * Reads models from a hub that works like huggingface.co. Requests go only to the hub's own origin and carry no
 * credentials. Concurrent requests for a model share one read, and a few models are cached.
 */
export class HubClient implements ModelHub {
  readonly host: string;
  readonly #url: string;
  readonly #take: HubOptions['take'];
  readonly #timeoutMs: number;
  readonly #models: LRUCache<string, HubModel>;
  #inFlight = 0;

  constructor({ url, take, timeoutMs = TIMEOUT_MS }: HubOptions) {
    this.host = new URL(url).host;
    this.#url = url;
    this.#take = take;
    this.#timeoutMs = timeoutMs;
    this.#models = new LRUCache<string, HubModel>({
      max: MAX_CACHED,
      maxSize: MAX_CACHED_BYTES,
      // An empty config counts too.
      sizeCalculation: ({ config }) => config.length + 1,
      ttl: CACHED_FOR_MS,
      fetchMethod: (name) => this.#readOnce(name),
    });
  }

  async read(name: string, client: string): Promise<HubModel> {
    // A read in flight counts too, because the cache can't be asked whether there is one.
    if (!this.#models.has(name)) this.#take(client);
    const model = await this.#models.fetch(name);
    if (model === undefined) throw unreachable('it was interrupted');
    return model;
  }

  async #readOnce(name: string): Promise<HubModel> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw unreachable('too many models are being read');
    this.#inFlight += 1;
    const limit = deadline(this.#timeoutMs);
    try {
      const config = await this.#readConfig(name, limit.signal);
      // The formula works without the size, so only an unreadable config.json is an error.
      return { config, storedBytes: await this.#storedBytes(name, limit.signal).catch(() => null) };
    } catch (error) {
      if (error instanceof DomainError) throw error;
      throw unreachable(limit.isOver ? `no response within ${this.#timeoutMs / 1_000} s` : fetchFault(error));
    } finally {
      limit.clear();
      this.#inFlight -= 1;
    }
  }

  async #readConfig(name: string, signal: AbortSignal): Promise<Buffer> {
    const response = await this.#get(`/${name}/resolve/main/config.json`, signal);
    if (!response.ok) {
      await response.body?.cancel();
      throw refusalOf(name, response);
    }
    const config = await readBounded(response, MAX_CONFIG_BYTES);
    if (config === null) throw notReadable(name, `is larger than ${MAX_CONFIG_BYTES / 1_000} kB`);
    return config;
  }

  /** Reads the size of the weights. Returns null for a model in one file, which has no index. */
  async #storedBytes(name: string, signal: AbortSignal): Promise<number | null> {
    const response = await this.#get(`/${name}/resolve/main/model.safetensors.index.json`, signal);
    const start = response.ok ? await readStart(response) : '';
    await response.body?.cancel();
    const size = Number(TOTAL_SIZE.exec(start)?.[1] ?? 0);
    return size > 0 && size <= MAX_STORED_BYTES ? size : null;
  }

  /** Sends a GET, and follows redirects within the hub's origin. */
  async #get(path: string, signal: AbortSignal): Promise<Response> {
    const { origin } = new URL(this.#url);
    let url = new URL(this.#url + path);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
      const next = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || next === null) return response;
      await response.body?.cancel();
      if (!URL.canParse(next, url) || new URL(next, url).origin !== origin)
        throw unreachable('it redirects to another host');
      url = new URL(next, url);
    }
    throw unreachable(`it redirects more than ${MAX_REDIRECTS} times`);
  }
}

/** Reads the first bytes of a response, in whole chunks. */
async function readStart({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (reader !== undefined && bytes < INDEX_START_BYTES) {
    const { value } = await reader.read();
    if (value === undefined) break;
    chunks.push(value);
    bytes += value.length;
  }
  reader?.releaseLock();
  return Buffer.concat(chunks).toString('latin1', 0, INDEX_START_BYTES);
}

/** Returns the error for a response that isn't the config.json. */
function refusalOf(name: string, { status, headers }: Response): DomainError {
  const reason = headers.get('x-error-code');
  if (status === 403 || reason === 'GatedRepo')
    return notReadable(name, 'is shown by the hub only to accounts that accepted its terms');
  if (status === 401 || reason === 'RepoNotFound')
    return new DomainError('not_found', `there is no public model ${name}`, { field: 'model' });
  if (status === 404) return new DomainError('not_found', `the model ${name} has no config.json`, { field: 'model' });
  return unreachable(`status ${status}`);
}

function notReadable(name: string, why: string): DomainError {
  return new DomainError('invalid_request', `the config.json of ${name} ${why}; paste it as config`, {
    field: 'model',
  });
}

function unreachable(why: string): DomainError {
  return new DomainError('unavailable', `the model hub can't be read: ${why}; retry later, or paste the config.json`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

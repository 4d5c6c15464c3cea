import type { IncomingMessage } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import fresh from 'fresh';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { Inventory } from '../../domain/inventory/inventory.js';
import { contentHash } from '../content-hash.js';
import type { Headers } from '../cors.js';

/** Encodings in order of preference, for callers that give them equal weights. */
const ENCODINGS = ['br', 'gzip', 'identity'];
/** Brotli quality, suited to bodies that are compressed once per change and sent many times. */
const BROTLI_QUALITY = 5;
const GZIP_LEVEL = 6;
/** Minimum size for compression. Smaller bodies fit into one packet uncompressed. */
const COMPRESSED_FROM_BYTES = 1_000;
const MAX_ANSWERS = 2_000;
const MAX_BYTES = 16_000_000;
/** Maximum length of an operation whose response is cached. */
const MAX_OPERATION_CHARACTERS = 8_000;
const MAX_REQUESTED = 2_000;
const MAX_REQUESTED_CHARACTERS = 1_000_000;
const MAX_KNOWN_HEADERS = 200;
/**
 * CDNs may reuse their copy for one second, which is also how long another gateway may take to notice a change. All
 * other caches must revalidate.
 */
const CACHE_CONTROL = 'public, max-age=0, s-maxage=1, must-revalidate';
export const VARY = 'Accept-Encoding';

/** A method missing from the published types. */
type Preferring = Negotiator & { encoding(available: string[], options: { preferred: string[] }): string | undefined };

/** A response to a GET or HEAD, excluding `Vary` and the headers common to all responses. */
export interface Reply {
  status: number;
  headers: Headers;
  /**
   * The body, or undefined if there is none, because Node sends a head without a body faster than with an empty one.
   */
  body: Buffer | undefined;
}

interface Representation {
  etag: string;
  whole: Reply;
  head: Reply;
  notModified: Reply;
}

/** A response's origin, which is cached with it for the log lines of later requests. */
export interface Source {
  type: string;
  route: string;
  /** Name of the GraphQL operation. */
  operation: string | null;
}

/** A public response as bytes that are ready to be sent. */
export interface PublicAnswer extends Source {
  body: Buffer;
  representations: Map<string, Representation>;
}

/** Entitles one request to cache its response, provided that nothing has changed since the ticket was drawn. */
export class Ticket {
  readonly #answers: PublicAnswers;
  readonly #key: string;
  readonly #version: number;

  constructor(answers: PublicAnswers, key: string, version: number) {
    this.#answers = answers;
    this.#key = key;
    this.#version = version;
  }

  /** Caches the response. Must only be called for a response that is the same for every caller. */
  keep(body: string, source: Source): PublicAnswer {
    return this.#answers.keep(this.#key, this.#version, body, source);
  }
}

/**
 * Caches public responses as bytes that are ready to be sent, until the inventory changes. It holds no account data. A
 * lookup returns the cached response, or a ticket to cache a new one.
 */
export class PublicAnswers {
  readonly #inventory: Inventory;
  readonly #answers = new LRUCache<string, PublicAnswer>({
    max: MAX_ANSWERS,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }, key) => body.length + key.length + 1,
  });
  /** Keys of operations that were sent before. They are kept when the inventory changes. */
  readonly #requested = new LRUCache<string, true>({
    max: MAX_REQUESTED,
    maxSize: MAX_REQUESTED_CHARACTERS,
    sizeCalculation: (_true, key) => key.length + 1,
  });
  /** Negotiated encodings by Accept-Encoding header. */
  readonly #encodings = new LRUCache<string, string>({ max: MAX_KNOWN_HEADERS });
  #version = 0;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  /** Looks up a GET or HEAD by its path and query. */
  lookupPath(path: string): PublicAnswer | Ticket {
    return this.#find(path) ?? this.#ticket(path);
  }

  /**
   * Looks up a GraphQL operation that was sent without a key and whose response has the content type `type`. Returns
   * null if the response must not be cached because the operation is too long or is sent for the first time. Most
   * operations with variables are sent only once.
   */
  lookupOperation(type: string, { query, ...others }: { query?: string }): PublicAnswer | Ticket | null {
    // The document is inserted unchanged, because encoding it as JSON would take as long as everything else here.
    const key = `POST ${type} ${JSON.stringify(others)} ${query}`;
    if (key.length > MAX_OPERATION_CHARACTERS) return null;
    const answer = this.#find(key);
    if (answer !== undefined) return answer;
    if (this.#requested.get(key) === true) return this.#ticket(key);
    this.#requested.set(key, true);
    return null;
  }

  /** Caches a response. Called by tickets with the `version` that the inventory had before the response was created. */
  keep(key: string, version: number, body: string, source: Source): PublicAnswer {
    const answer = { ...source, body: Buffer.from(body), representations: new Map() };
    if (this.#isCurrent() && this.#version === version) this.#answers.set(key, answer);
    return answer;
  }

  /**
   * Returns the reply to a GET or HEAD in the encoding preferred by its sender, or a 304 if the sender already has the
   * same bytes.
   */
  replyTo(request: IncomingMessage, answer: PublicAnswer): Reply {
    const { whole, head, notModified, etag } = this.#representation(request.headers['accept-encoding'], answer);
    if (request.headers['if-none-match'] !== undefined && fresh(request.headers, { etag })) return notModified;
    return request.method === 'HEAD' ? head : whole;
  }

  #find(key: string): PublicAnswer | undefined {
    return this.#isCurrent() ? this.#answers.get(key) : undefined;
  }

  #ticket(key: string): Ticket {
    return new Ticket(this, key, this.#inventory.version);
  }

  /** Returns whether the cached responses are current. Drops those created before a change. */
  #isCurrent(): boolean {
    if (!this.#inventory.isCurrent) return false;
    if (this.#version !== this.#inventory.version) {
      this.#answers.clear();
      this.#version = this.#inventory.version;
    }
    return true;
  }

  #encodingOf(accepted: string | undefined, { body }: PublicAnswer): string {
    if (accepted === undefined || body.length < COMPRESSED_FROM_BYTES) return 'identity';
    const known = this.#encodings.get(accepted);
    if (known !== undefined) return known;
    const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } }) as Preferring;
    const encoding = negotiator.encoding(ENCODINGS, { preferred: ENCODINGS }) ?? 'identity';
    this.#encodings.set(accepted, encoding);
    return encoding;
  }

  #representation(accepted: string | undefined, answer: PublicAnswer): Representation {
    const encoding = this.#encodingOf(accepted, answer);
    const known = answer.representations.get(encoding);
    if (known !== undefined) return known;
    const bytes = encode(answer.body, encoding);
    const hash = contentHash(answer.body);
    const etag = encoding === 'identity' ? `"${hash}"` : `"${hash}-${encoding}"`;
    const common = ['ETag', etag, 'Cache-Control', CACHE_CONTROL];
    const coding = encoding === 'identity' ? [] : ['Content-Encoding', encoding];
    const headers = ['Content-Type', answer.type, 'Content-Length', String(bytes.length), ...coding, ...common];
    const representation = {
      etag,
      whole: { status: 200, headers, body: bytes },
      head: { status: 200, headers, body: undefined },
      notModified: { status: 304, headers: common, body: undefined },
    };
    answer.representations.set(encoding, representation);
    return representation;
  }
}

function encode(body: Buffer, encoding: string): Buffer {
  if (encoding === 'br') {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
    };
    return brotliCompressSync(body, { params });
  }
  return encoding === 'gzip' ? gzipSync(body, { level: GZIP_LEVEL }) : body;
}

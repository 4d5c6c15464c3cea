import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import fresh from 'fresh';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { Inventory } from '../../domain/inventory/inventory.js';
import type { Headers } from '../cors.js';

/** In the order that they are preferred in when a caller likes them alike. */
const ENCODINGS = ['br', 'gzip', 'identity'];
/** Good for a body that is made once for each change and sent many times. */
const BROTLI_QUALITY = 5;
const GZIP_LEVEL = 6;
/** Smaller bodies fit one packet as they are. */
const COMPRESSED_FROM_BYTES = 1_000;
const MAX_ANSWERS = 2_000;
const MAX_BYTES = 16_000_000;
const MAX_ASKED = 2_000;
const MAX_ASKED_CHARACTERS = 1_000_000;
const MAX_KNOWN_HEADERS = 200;
/** A CDN may answer of its copy for a second, as long as another gateway may take to hear of a change; all others ask. */
const CACHE_CONTROL = 'public, max-age=0, s-maxage=1, must-revalidate';
export const VARY = 'Accept-Encoding';

/** What the published types leave out. */
type Preferring = Negotiator & { encoding(available: string[], options: { preferred: string[] }): string | undefined };

/** What is to be sent beside the headers of every answer and `Vary`. */
export interface Reply {
  status: number;
  headers: Headers;
  /** Undefined for none: Node sends a head alone faster than one with an empty body. */
  body: Buffer | undefined;
}

interface Representation {
  etag: string;
  whole: Reply;
  head: Reply;
  notModified: Reply;
}

/** The ready bytes of one public answer. */
export interface PublicAnswer {
  body: Buffer;
  type: string;
  representations: Map<string, Representation>;
}

/**
 * Public answers as ready bytes. One is right until the inventory changes, which throws all of them away; it holds
 * nothing of any account.
 */
export class PublicAnswers {
  readonly #inventory: Inventory;
  readonly #answers = new LRUCache<string, PublicAnswer>({
    max: MAX_ANSWERS,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }, key) => body.length + key.length + 1,
  });
  /** Keys met before, whatever was answered then. */
  readonly #asked = new LRUCache<string, true>({
    max: MAX_ASKED,
    maxSize: MAX_ASKED_CHARACTERS,
    sizeCalculation: (_true, key) => key.length + 1,
  });
  /** Of Accept-Encoding headers met before. */
  readonly #encodings = new LRUCache<string, string>({ max: MAX_KNOWN_HEADERS });
  #version = 0;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  /** To be read before an answer is made that is to be kept. */
  get version(): number {
    return this.#inventory.version;
  }

  /** Undefined also while the inventory is behind. */
  find(key: string): PublicAnswer | undefined {
    return this.#isCurrent() ? this.#answers.get(key) : undefined;
  }

  /** False at the first asking: most questions with variables come but once, and their answers need not be kept. */
  isAskedAgain(key: string): boolean {
    if (this.#asked.get(key) === true) return true;
    this.#asked.set(key, true);
    return false;
  }

  /** Keeps an answer, unless something has changed since `version`. */
  keep(key: string, version: number, body: string, type: string): PublicAnswer {
    const answer = { body: Buffer.from(body), type, representations: new Map() };
    if (this.#isCurrent() && this.#version === version) this.#answers.set(key, answer);
    return answer;
  }

  /** Whether what is kept now is right; throws away what was made before a change. */
  #isCurrent(): boolean {
    if (!this.#inventory.isCurrent) return false;
    if (this.#version !== this.#inventory.version) {
      this.#answers.clear();
      this.#version = this.#inventory.version;
    }
    return true;
  }

  /** To a GET or HEAD, in the encoding that is liked best: 200, or 304 to whoever has these very bytes. */
  replyTo(request: IncomingMessage, answer: PublicAnswer): Reply {
    const { whole, head, notModified, etag } = this.#representation(request.headers['accept-encoding'], answer);
    if (request.headers['if-none-match'] !== undefined && fresh(request.headers, { etag })) return notModified;
    return request.method === 'HEAD' ? head : whole;
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
    const hash = createHash('sha256').update(answer.body).digest('base64url').slice(0, 22);
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

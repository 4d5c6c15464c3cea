import { GpuConnectionError, type GpuError, GpuRefusal } from './errors.js';
import { delayMs, isRetried, policyOf, type RetryPolicy } from './retry.js';
import type { RefusalCode } from './types.js';

export interface ClientOptions {
  /** API key. It isn't needed for prices and offers. */
  apiKey?: string | undefined;
  /** Base URL, including the path prefix. If it has no path, `/v1` is added. */
  baseUrl?: string | undefined;
  /** Time limit for one attempt, including reading its response. */
  timeoutMs?: number | undefined;
  retry?: Partial<RetryPolicy>;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch;
  /** Called before each wait for another attempt. */
  onRetry?: (retry: Retry) => void;
  /** Called for every response from the service, including refusals, with its unparsed body. */
  onAnswer?: (answer: RawAnswer) => void;
}

export interface Retry {
  /** The attempt that failed, counted from 1. */
  attempt: number;
  maxAttempts: number;
  delayMs: number;
  error: GpuError;
}

export interface RawAnswer {
  method: string;
  url: string;
  status: number;
  requestId: string | null;
  text: string;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Identifies this request, as 1 to 255 visible ASCII characters. Defaults to a random key. */
  idempotencyKey?: string | undefined;
}

interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Whether to send the call to /graphql, which is next to the REST routes and outside the path prefix. */
  isGraphql?: boolean;
  /** Whether to reject with GraphQL's first refusal, even if there is data. */
  refuses?: boolean;
  query?: object | undefined;
  body?: object;
  idempotencyKey?: string;
  options: CallOptions;
}

export type Send = <Answer>(call: Call) => Promise<Answer>;

interface Attempt {
  url: string;
  init: RequestInit & { method: string };
  timeoutMs: number;
  signal: AbortSignal | undefined;
  refuses: boolean;
}

export const DEFAULT_BASE_URL = 'http://127.0.0.1:4000/v1';
const DEFAULT_TIMEOUT_MS = 30_000;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** Maximum number of characters to quote from a body in an error message. */
const MAX_QUOTED = 200;

/**
 * Returns a function that sends calls. Throws a TypeError for an invalid option. The error's message never contains the
 * key.
 */
export function createSend(options: ClientOptions): Send {
  const baseUrl = readBaseUrl(options.baseUrl ?? DEFAULT_BASE_URL);
  const policy = policyOf(options.retry);
  const { apiKey } = options;
  if (apiKey !== undefined && !VISIBLE_ASCII.test(apiKey)) {
    throw new TypeError('apiKey must contain only visible ASCII characters, with no spaces');
  }
  return async <Answer>(call: Call) => {
    const base = call.isGraphql ? baseUrl.replace(/\/v1$/, '') : baseUrl;
    const url = `${base}${call.path}${queryText(call.query)}`;
    const init = {
      method: call.method,
      headers: headersOf(call, apiKey),
      ...bodyOf(call),
      redirect: 'manual' as const,
    };
    const endsAt = Date.now() + policy.totalMs;
    const { signal } = call.options;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const left = endsAt - Date.now();
      const timeoutMs = Math.max(1, Math.min(call.options.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS, left));
      const result = await attemptOnce(options, { url, init, timeoutMs, signal, refuses: call.refuses ?? false });
      if ('answer' in result) return result.answer as Answer;
      const { error } = result;
      error.attempts = attempt;
      error.idempotencyKey = call.idempotencyKey ?? null;
      if (attempt >= policy.maxAttempts || !isRetried(error)) throw error;
      const wait = delayMs(policy, attempt, error.retryAfter);
      if (Date.now() + wait >= endsAt) throw error;
      options.onRetry?.({ attempt, maxAttempts: policy.maxAttempts, delayMs: wait, error });
      await sleep(wait, signal);
    }
  };
}

/** Normalizes a base URL so that it includes the path prefix and has no trailing slash. */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl must be a URL such as https://gpu.example.com/v1');
  }
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path === '' ? '/v1' : path}`;
}

function queryText(query: object = {}): string {
  const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * Builds the headers before anything is sent, because an invalid value is the caller's mistake rather than a lost
 * connection.
 */
function headersOf({ body, idempotencyKey }: Call, apiKey: string | undefined): Headers {
  const headers = new Headers({ accept: 'application/json' });
  if (apiKey !== undefined) headers.set('authorization', `Bearer ${apiKey}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
  return headers;
}

function bodyOf({ body }: Call): { body?: string } {
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

/** Makes one attempt to send a request. Rejects only if the caller's signal aborts it. */
async function attemptOnce(
  options: ClientOptions,
  attempt: Attempt,
): Promise<{ answer: unknown } | { error: GpuError }> {
  const received = await receive(options.fetch ?? globalThis.fetch, attempt);
  return 'error' in received ? received : readAnswer(options, attempt, received.response, received.text);
}

async function receive(
  send: typeof fetch,
  { url, init, timeoutMs, signal }: Attempt,
): Promise<{ response: Response; text: string } | { error: GpuError }> {
  const controller = new AbortController();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    controller.abort();
  }, timeoutMs);
  const abort = () => controller.abort();
  signal?.addEventListener('abort', abort);
  try {
    const response = await send(url, { ...init, signal: controller.signal });
    return { response, text: await response.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    const error = late
      ? new GpuConnectionError('timed_out', `no response within ${timeoutMs} ms from ${url}`, { cause })
      : new GpuConnectionError('no_connection', `no connection to ${url}: ${reasonOf(cause)}`, { cause });
    return { error };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function readAnswer(
  { onAnswer }: ClientOptions,
  { url, init, refuses }: Attempt,
  response: Response,
  text: string,
): { answer: unknown } | { error: GpuError } {
  const { status } = response;
  const requestId = response.headers.get('x-request-id');
  const details = { status, requestId, retryAfter: readRetryAfter(response.headers.get('retry-after')) };
  onAnswer?.({ method: init.method, url, status, requestId, text });
  const body = parse(text);
  const refused = refuses && isObject(body) ? firstRefusal(body) : null;
  if (refused !== null) return { error: new GpuRefusal(refused.code, refused.message, details) };
  if (response.ok && isObject(body)) return { answer: body };
  const refusal = isObject(body) ? body.error : undefined;
  if (!response.ok && isObject(refusal) && typeof refusal.code === 'string' && typeof refusal.message === 'string') {
    return { error: new GpuRefusal(refusal.code as RefusalCode, refusal.message, details) };
  }
  // Redirects are not followed, because a POST would become a GET. Browsers hide the status and target of a redirect.
  const redirect = response.type === 'opaqueredirect' || (status >= 300 && status < 400);
  const location = response.headers.get('location');
  const what = redirect
    ? `redirect${location === null ? '' : ` to ${location}`}`
    : `HTTP ${status}, ${text === '' ? 'without a body' : JSON.stringify(text.slice(0, MAX_QUOTED))}`;
  return {
    error: new GpuConnectionError('bad_answer', `unexpected response from ${url}: ${what}`, details),
  };
}

function firstRefusal({ errors }: Record<string, unknown>): { code: RefusalCode; message: string } | null {
  const [error] = Array.isArray(errors) ? errors : [];
  const extensions = isObject(error) ? error.extensions : undefined;
  if (!isObject(extensions) || typeof extensions.code !== 'string') return null;
  return { code: extensions.code as RefusalCode, message: String(error.message) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the number of seconds to wait, from either of the header's formats. */
function readRetryAfter(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - Date.now()) / 1_000));
}

/**
 * Returns the reason why a fetch failed. Node stores it in the error's cause. For a name with several addresses, the
 * cause is a list of errors that has no message.
 */
function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause ?? error;
  const { code, message } = cause as { code?: string; message?: string };
  return code ?? message ?? String(cause);
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

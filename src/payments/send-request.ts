import { ProcessorUnavailable } from '../domain/top-ups/processor.js';
import { parseJson } from '../std/untrusted/json.js';
import { readBounded } from '../std/untrusted/read-bounded.js';

/** Time limit for one request, including the response. */
const PROCESSOR_TIMEOUT_MS = 5_000;
/** Maximum size of a response, in bytes. A typical one has a few kilobytes. */
const MAX_RESPONSE_BYTES = 1_000_000;
/**
 * Maximum number of concurrent requests, so that a hanging processor can't tie up memory and sockets for every caller.
 */
const MAX_IN_FLIGHT = 50;

/** Returns headers for a single call, such as the one that propagates its trace. */
export type MoreHeaders = () => Record<string, string>;
export type SendRequest = (
  path: string,
  init?: { method?: 'GET' | 'POST'; body?: object; maxBytes?: number },
) => Promise<ProcessorResponse>;

interface ProcessorResponse {
  status: number;
  /** The parsed JSON. Amounts are always strings, never JSON numbers. */
  body: unknown;
}

/**
 * Returns a function that sends JSON requests to a processor over HTTP. `headers` contains the processor's key, which
 * never appears in an error message. `moreHeaders` returns additional headers for each call.
 */
export function createRequestSender(
  baseUrl: string,
  headers: Record<string, string>,
  moreHeaders: MoreHeaders,
): SendRequest {
  const base = baseUrl.replace(/\/+$/, '');
  let inFlight = 0;
  return async (path, { method = 'GET', body, maxBytes = MAX_RESPONSE_BYTES } = {}) => {
    if (inFlight >= MAX_IN_FLIGHT) throw new ProcessorUnavailable('too many requests to the processor are in flight');
    inFlight += 1;
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          accept: 'application/json',
          ...moreHeaders(),
          ...headers,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(PROCESSOR_TIMEOUT_MS),
      });
      const bytes = await readBounded(response, maxBytes);
      if (bytes === null) throw new ProcessorUnavailable(`the processor sent more than ${maxBytes / 1_000_000} MB`);
      return { status: response.status, body: parseJson(bytes) };
    } catch (cause) {
      if (cause instanceof ProcessorUnavailable) throw cause;
      throw new ProcessorUnavailable(`${method} ${path}: ${reasonOf(cause)}`, { cause });
    } finally {
      inFlight -= 1;
    }
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'the response is not JSON';
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
  return cause?.code ?? cause?.message ?? message ?? String(error);
}

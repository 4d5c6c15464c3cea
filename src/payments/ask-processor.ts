import { ProcessorUnavailable } from '../domain/top-ups/processor.js';
import { parseJson } from '../untrusted/json.js';

/** Of one request, until its answer is read. */
const PROCESSOR_TIMEOUT_MS = 5_000;
/** A processor's answers are a few kilobytes. */
const MAX_ANSWER_BYTES = 1_000_000;
/** Requests under way at once: a processor that hangs must not keep memory and sockets for every caller. */
const MAX_UNDER_WAY = 50;

/** Headers of one call, such as its trace. */
export type MoreHeaders = () => Record<string, string>;
export type Ask = (path: string, init?: { method?: 'GET' | 'POST'; body?: object }) => Promise<Answered>;

interface Answered {
  status: number;
  /** Parsed; numbers in it are never amounts: those are texts. */
  body: unknown;
}

/**
 * Asks one processor by HTTP and JSON. `headers` hold its key, which is in no message; `moreHeaders` are those of a
 * call.
 */
export function createAsk(baseUrl: string, headers: Record<string, string>, moreHeaders: MoreHeaders): Ask {
  const base = baseUrl.replace(/\/+$/, '');
  let underWay = 0;
  return async (path, { method = 'GET', body } = {}) => {
    if (underWay >= MAX_UNDER_WAY) throw new ProcessorUnavailable('too many requests to the processor are under way');
    underWay += 1;
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
      return { status: response.status, body: parseJson(await readBounded(response)) };
    } catch (cause) {
      if (cause instanceof ProcessorUnavailable) throw cause;
      throw new ProcessorUnavailable(`${method} ${path}: ${reasonOf(cause)}`, { cause });
    } finally {
      underWay -= 1;
    }
  };
}

async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Node's streams can be walked through, which the types of the browsers' don't say.
  for await (const chunk of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new ProcessorUnavailable('the processor answers more than 1 MB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'the answer is not JSON';
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
  return cause?.code ?? cause?.message ?? message ?? String(error);
}

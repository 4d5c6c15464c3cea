import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';

/**
 * Minimum number of bytes that must arrive in each `STEP_MS` of waiting, which amounts to 8 kB per second. There is a
 * minimum because each upload occupies a slot.
 */
const STEP_BYTES = 240_000;
const STEP_MS = 30_000;

/** Yields a request's body. Disconnects a sender that is too slow, but doesn't count time taken by a slow store. */
export async function* atPace(request: IncomingMessage, stepMs = STEP_MS): AsyncIterable<Buffer> {
  const pieces: AsyncIterator<Buffer> = request[Symbol.asyncIterator]();
  let waitedMs = 0;
  let bytes = 0;
  for (;;) {
    const cut = setTimeout(() => request.destroy(), Math.max(stepMs - waitedMs, 0)).unref();
    const since = performance.now();
    const next = await pieces.next().finally(() => clearTimeout(cut));
    if (next.done === true) return;
    waitedMs += performance.now() - since;
    bytes += next.value.length;
    if (bytes >= STEP_BYTES) {
      bytes = 0;
      waitedMs = 0;
    }
    yield next.value;
  }
}

import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const WAITS_MS = 120_000;
const ANSWERS_WITHIN_MS = 30_000;

/** Sends a request to a gateway on this machine. */
export function call(port, method, path, headers = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const sent = request({ port, method, path, headers, timeout: ANSWERS_WITHIN_MS }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(chunks).toString() }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no response')));
    sent.on('error', reject);
    sent.end(body);
  });
}

export async function until(what, look, withinMs = WAITS_MS) {
  const late = performance.now() + withinMs;
  while (!(await look())) {
    if (performance.now() > late) throw new Error(`timed out: ${what}`);
    await sleep(100);
  }
}

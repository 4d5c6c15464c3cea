import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that the kernel assigns to outgoing connections and to `listen(0)`, so that neither of them takes the
 * port in the meantime.
 */
const [FIRST, END] = [10_000, 32_000];

/** Returns a port that is free on every address, for a program that needs a fixed port or must reuse it. */
export async function freePort(): Promise<number> {
  return (await freePorts(1)).from;
}

/** Returns a range of consecutive free ports for TCP_PORTS. */
export async function freePorts(count: number): Promise<{ from: number; to: number }> {
  for (;;) {
    const from = randomInt(FIRST, END - count);
    const ports = Array.from({ length: count }, (_, at) => from + at);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return { from, to: from + count - 1 };
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port);
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (free) await new Promise((closed) => server.close(closed));
  return free;
}

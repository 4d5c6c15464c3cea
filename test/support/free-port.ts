import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the kernel gives to outgoing connections and to `listen(0)`, so that neither takes it meanwhile. */
const [FIRST, END] = [10_000, 32_000];

/** A port that is free on every address, for a program that needs to be given one, or has to come back to it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    const server = createServer().listen(port);
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

import { createConnection, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Runs only in a container's network namespace (nsenter --net). It connects to ports there and hands the connections to
 * the agent, which is its parent process. It exits with the agent.
 */

/** Maximum concurrent connection attempts. The parent has its own limit, but it may disappear without notice. */
const MAX_CONNECTING = 600;
const CONNECTS_WITHIN_MS = 5_000;

let connecting = 0;

process.on('message', ({ id, port }: { id: number; port: number }) => {
  if (connecting >= MAX_CONNECTING) return answer({ id, error: 'EAGAIN' });
  connecting += 1;
  connectFirst(['127.0.0.1', '::1', ...ownAddresses()], port).then(
    (socket) => {
      connecting -= 1;
      process.send?.({ id }, socket);
    },
    (error: NodeJS.ErrnoException) => {
      connecting -= 1;
      answer({ id, error: error.code ?? error.message });
    },
  );
});
process.on('disconnect', () => process.exit());
answer({ ready: true });

function answer(message: object): void {
  process.send?.(message);
}

/**
 * Connects to the first host that accepts, because a server may listen only on its loopback or only on its own address.
 */
async function connectFirst(hosts: readonly string[], port: number): Promise<Socket> {
  let fault: unknown = new Error('no address');
  for (const host of hosts) {
    try {
      return await connect(host, port);
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}

function connect(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port, allowHalfOpen: true, noDelay: true });
    // The agent must read the server's first bytes.
    socket.pause();
    socket.setTimeout(CONNECTS_WITHIN_MS, () => socket.destroy(new Error('ETIMEDOUT')));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address);
}

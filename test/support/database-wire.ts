import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

export interface DatabaseWire {
  url: string;
  /** Ends connections, new ones at once. */
  cut(): void;
  /** Takes no connections at all. */
  refuse(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** A way to a database that can be broken and mended. */
export async function openWire(target: URL): Promise<DatabaseWire> {
  const sockets = new Set<Socket>();
  let whole = true;
  const server: Server = createServer((near) => {
    near.on('error', () => {});
    if (!whole) return void near.destroy();
    const far = dial(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    refuse: stop,
    mend: async () => {
      whole = true;
      if (!server.listening) await listen(port);
    },
    close: stop,
  };
}

import { Agent, type ClientRequest, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';

/** Time to keep a free tunnel for a page's next request. Programs keep idle connections for at least 2 s. */
const FREE_MS = 1_000;
const MAX_FREE_PER_PORT = 8;

export interface Port {
  accountId: string;
  instanceId: string;
  port: number;
}

export type OpenPort = (port: Port) => Promise<Duplex>;

/** Returns a request's options, which Node passes to `createConnection`. Node groups free tunnels by host and port. */
export function portOptions({ accountId, instanceId, port }: Port): RequestOptions {
  return { host: instanceId, port, accountId } as RequestOptions;
}

/** Makes Node's HTTP client communicate through tunnels. */
export class PortAgent extends Agent {
  readonly #open: OpenPort;
  readonly #free = new WeakMap<Duplex, () => void>();

  constructor(open: OpenPort) {
    super({ keepAlive: true, maxFreeSockets: MAX_FREE_PER_PORT });
    this.#open = open;
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const { host, port, accountId } = options as { host: string; port: number; accountId: string };
    this.#open({ accountId, instanceId: host, port: Number(port) }).then(
      // Node's client calls these methods on sockets, including `destroySoon` to release a connection that isn't kept.
      (stream) => callback?.(null, Object.assign(stream, { destroySoon: () => stream.destroy(), ref: () => stream })),
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  }

  /**
   * Keeps a free tunnel. If it sends something or ends, it is destroyed, because it would corrupt the next response.
   */
  override keepSocketAlive(stream: Duplex): boolean {
    const destroy = () => stream.destroy();
    const timer = setTimeout(destroy, FREE_MS).unref();
    stream.on('data', destroy).on('end', destroy);
    this.#free.set(stream, () => {
      clearTimeout(timer);
      stream.off('data', destroy).off('end', destroy);
    });
    return !stream.readableEnded;
  }

  override reuseSocket(stream: Duplex, request: ClientRequest): void {
    this.#free.get(stream)?.();
    super.reuseSocket(stream, request);
  }
}

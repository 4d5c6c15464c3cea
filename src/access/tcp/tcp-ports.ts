import { createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { Logger } from 'pino';
import { readTcpPorts, type TcpTarget } from '../../domain/instances/tcp-ports.js';
import { clientNetworkOf } from '../../domain/kernel/client-network.js';
import type { KernelDeps } from '../../domain/kernel/deps.js';
import { PendingConnections } from '../ssh/pending-connections.js';
import { type Tunnel, TunnelRefused, type Tunnels } from '../tunnels.js';

/**
 * Maximum concurrent connections per instance. It is lower than an instance's tunnel limit, so that SSH remains
 * possible.
 */
const MAX_PER_INSTANCE = 200;
const MAX_CONNECTIONS = 2_000;
/** Limits on connections whose tunnel isn't open yet, and on the rate at which a network may connect. */
const OPENING = { max: 512, maxPerNetwork: 256, burst: 512, everyMs: 20 };
/** Interval between keepalive probes, which detect clients that have disappeared without closing the connection. */
const KEEPALIVE_MS = 60_000;
const LOAD_AGAIN_MS = 500;

export interface TcpRange {
  from: number;
  to: number;
}

/** Thrown if a port in TCP_PORTS can't be listened on. The message is a single line for the operator. */
export class TcpPortsUnusable extends Error {
  constructor(port: number, { code, message }: NodeJS.ErrnoException) {
    const why = code === 'EADDRINUSE' ? 'is in use by another program' : `is unavailable: ${message}`;
    super(`port ${port} of TCP_PORTS ${why}; set TCP_PORTS to another range, or to an empty value for no TCP ports`);
  }
}

/** Passes each connection to a port in the range through a tunnel to the instance port assigned to it. */
export class TcpPorts {
  readonly #log: Logger;
  readonly #servers: Server[] = [];
  /** Open connections with their instances. */
  readonly #open = new Map<Socket, string>();
  readonly #opening = new PendingConnections<Socket>(OPENING);
  #targets: ReadonlyMap<number, TcpTarget> = new Map();
  #served: { deps: Pick<KernelDeps, 'db'>; tunnels: Tunnels } | null = null;
  #unsubscribe: () => void = () => {};
  #loading: Promise<void> | null = null;
  #isStale = false;
  #isClosed = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Listens on all ports, so that the operator learns immediately if one is taken. Connections are closed until `serve`
   * is called.
   */
  async listen({ from, to }: TcpRange, host: string): Promise<void> {
    for (let port = from; port <= to; port += 1) {
      const options = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true };
      const server = createServer(options, (socket) => this.#accept(socket, port));
      this.#servers.push(server);
      await new Promise<void>((resolve, reject) => {
        server.once('error', (error: NodeJS.ErrnoException) => reject(new TcpPortsUnusable(port, error)));
        server.listen(port, host, resolve);
      });
      server.removeAllListeners('error').on('error', () => {});
    }
  }

  async serve(deps: Pick<KernelDeps, 'db'>, tunnels: Tunnels): Promise<void> {
    this.#served = { deps, tunnels };
    this.#unsubscribe = deps.db.notices.subscribe({
      onNotice: ({ table }) => table === 'tcp_port' && this.#load(),
      onLost: () => this.#load(),
    });
    await deps.db.notices.ready();
    this.#load();
    await this.#loading;
  }

  /** Number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  stopListening(): void {
    this.#isClosed = true;
    for (const server of this.#servers) server.close();
  }

  close(): void {
    this.stopListening();
    this.#unsubscribe();
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Loads the port mappings, and reloads them if a change arrives in the meantime. */
  #load(): void {
    this.#isStale = true;
    this.#loading ??= this.#loadAll().finally(() => {
      this.#loading = null;
    });
  }

  async #loadAll(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      try {
        this.#targets = await readTcpPorts(this.#served!.deps);
      } catch (error) {
        this.#log.warn({ err: error }, 'TCP port mappings could not be read');
        this.#isStale = true;
        await new Promise((resolve) => setTimeout(resolve, LOAD_AGAIN_MS).unref());
      }
    }
  }

  #accept(socket: Socket, publicPort: number): void {
    socket.on('error', () => {});
    const target = this.#targets.get(publicPort);
    const network = clientNetworkOf(socket.remoteAddress);
    if (target === undefined || this.#isClosed || !this.#admit(network, socket, target)) {
      socket.destroy();
      return;
    }
    socket.setKeepAlive(true, KEEPALIVE_MS);
    const gone = new AbortController();
    socket.once('close', () => {
      gone.abort();
      this.#opening.leave(network, socket);
      this.#open.delete(socket);
    });
    this.#join(socket, target, gone.signal, () => this.#opening.loggedIn(network, socket)).catch((error) => {
      if (!(error instanceof TunnelRefused)) this.#log.error({ err: error }, 'TCP connection could not be forwarded');
      socket.destroy();
    });
  }

  /** Adds a connection. Returns false if there is no room. */
  #admit(network: string, socket: Socket, { instanceId }: TcpTarget): boolean {
    let ofInstance = 0;
    for (const other of this.#open.values()) if (other === instanceId) ofInstance += 1;
    if (this.#open.size >= MAX_CONNECTIONS || ofInstance >= MAX_PER_INSTANCE) return false;
    if (!this.#opening.enter(network, socket, (dropped) => dropped.destroy())) return false;
    this.#open.set(socket, instanceId);
    return true;
  }

  async #join(socket: Socket, target: TcpTarget, signal: AbortSignal, onOpen: () => void): Promise<void> {
    const { accountId, instanceId, port } = target;
    // Anyone may connect. No key is needed, so revoking one doesn't end any connection.
    const opener = { accountId, apiKeyId: null, sshKeyId: null };
    const wanted = { opener, instanceId, target: { kind: 'port' as const, port } };
    const tunnel: Tunnel = await this.#served!.tunnels.open(wanted, signal);
    onOpen();
    if (socket.destroyed) return void tunnel.destroy();
    // Each side can end its own half first.
    pipeline(socket, tunnel, () => {});
    pipeline(tunnel, socket, (error) => error && socket.destroy());
    socket.once('close', () => tunnel.destroy());
    tunnel.once('close', () => tunnel.readableEnded || socket.destroy());
  }
}

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type ServerChannel } from 'ssh2';
import { SSH_KEY_TYPES } from '../../domain/accounts/rules/ssh-key.js';
import { findSshAccess, type SshAccess } from '../../domain/accounts/ssh-keys.js';
import type { FleetDeps } from '../../domain/fleet/deps.js';
import { clientNetworkOf } from '../../domain/kernel/client-network.js';
import { type Access, ReachWatch } from '../reach-watch.js';
import { type Tunnel, TunnelRefused, type Tunnels } from '../tunnels.js';
import { AgentForwarding } from './agent-forwarding.js';
import { type Connected, READS_WITHIN_MS } from './command.js';
import { joinPort } from './join.js';
import { refuseChannel, socketOf } from './library.js';
import { readLoginName } from './login-name.js';
import { PendingConnections } from './pending-connections.js';
import { connectUnix, RelayRefused } from './relay.js';
import { serveSession } from './session.js';

/** Time after which a connection that hasn't logged in is closed. */
const LOGIN_MS = 20_000;
/** Maximum login attempts per connection, which also limits how many keys a client can offer. */
const MAX_ATTEMPTS = 20;
/**
 * Delay after a login before checking again, in case the key was revoked or the instance ended while the login was in
 * progress.
 */
const CHECKED_AFTER_MS = 10_000;
const MAX_CONNECTIONS = 2_000;
const MAX_CONNECTIONS_PER_NETWORK = 256;
/** Maximum concurrent sessions and forwarded connections per SSH connection. */
const MAX_CHANNELS = 128;
const TOO_MANY = `the connection has ${MAX_CHANNELS} channels, the maximum; close one first`;
/** Names for the instance's own loopback. Programs inside print `0.0.0.0` as their address. */
const LOOPBACK = ['localhost', '127.0.0.1', '::1', '0.0.0.0', '::', 'ip6-localhost'] as const;
const IS_SOCKET_PATH = /^\/[^\0]{1,106}$/;
const KEEPALIVE_MS = 15_000;
const KEEPALIVES_MISSED = 3;

/**
 * OpenSSL encrypts with these in one pass, which takes half the time of CTR with a MAC and even less compared to
 * ChaCha20 in WebAssembly.
 */
const FAST_CIPHERS = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'] as const;
const CIPHERS = [...FAST_CIPHERS, 'aes128-ctr', 'aes256-ctr'] as const;
/**
 * Matches OpenSSH clients that support GCM, which all versions since 6.2 do. These are only offered GCM, because the
 * client chooses the cipher and OpenSSH would choose CTR. Other clients are offered all ciphers.
 */
const KNOWS_FAST = /^SSH-2\.0-OpenSSH_([7-9]|\d\d)/;
/** Maximum time to wait for a client's first line. */
const INTRODUCES_WITHIN_MS = 300;
const MACS = ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256'] as const;
const KEXES = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
] as const;

interface LoggedIn extends Access {
  end(): void;
}

export interface SshServerOptions {
  log: Logger;
  /** The host key in OpenSSH's format. */
  hostKey: string;
}

/** Thrown if SSH_PORT can't be listened on. The message is a single line for the operator. */
export class SshPortUnusable extends Error {
  constructor(port: number, { code, message }: NodeJS.ErrnoException) {
    const why = code === 'EADDRINUSE' ? 'is in use by another program' : `is unavailable: ${message}`;
    super(`SSH_PORT ${port} ${why}; set it to another port, to 0 for a free one, or to an empty value for no SSH`);
  }
}

/**
 * Gives SSH access to instances. The login name is the instance, optionally preceded by one of its container's users.
 * Only the SSH keys of the instance's account can log in.
 */
export class SshServer {
  readonly #options: SshServerOptions;
  readonly #ssh: ssh2.Server;
  readonly #fast: ssh2.Server;
  readonly #server: Server;
  /** Open connections with their client networks. */
  readonly #open = new Map<Socket, string>();
  readonly #pending = new PendingConnections<Socket>();
  /** Connections that have logged in. */
  readonly #loggedIn = new Set<LoggedIn>();
  #watch: ReachWatch<LoggedIn> | null = null;
  /** Set by `serve`, and null until then. */
  #served: { deps: Pick<FleetDeps, 'db' | 'clock' | 'settings' | 'fleet'>; tunnels: Tunnels } | null = null;
  #isClosed = false;

  constructor(options: SshServerOptions) {
    this.#options = options;
    this.#ssh = this.#speaking(CIPHERS);
    this.#fast = this.#speaking(FAST_CIPHERS);
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Listens on the port and returns its number. Connections are closed immediately until `serve` is called. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => reject(new SshPortUnusable(port, error)));
      this.#server.listen(port, host, () => {
        this.#server.removeAllListeners('error').on('error', () => {});
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Starts accepting connections. */
  serve(deps: Pick<FleetDeps, 'db' | 'clock' | 'settings' | 'fleet'>, tunnels: Tunnels): void {
    this.#served = { deps, tunnels };
    this.#watch = new ReachWatch({ deps, open: this.#loggedIn, onOver: endSoon });
  }

  /** Number of open connections, including those that haven't logged in. */
  get size(): number {
    return this.#open.size;
  }

  /** Stops accepting connections. Open ones continue until `close` is called. */
  stopListening(): void {
    if (!this.#isClosed) this.#server.close();
    this.#isClosed = true;
  }

  close(): void {
    this.stopListening();
    this.#watch?.close();
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #speaking(ciphers: readonly ssh2.CipherAlgorithm[]): ssh2.Server {
    const server = new ssh2.Server({
      hostKeys: [this.#options.hostKey],
      ident: 'gpu-gateway',
      keepaliveInterval: KEEPALIVE_MS,
      keepaliveCountMax: KEEPALIVES_MISSED,
      algorithms: { cipher: [...ciphers], hmac: [...MACS], kex: [...KEXES], compress: ['none'] },
    } as ssh2.ServerConfig);
    return server.on('connection', (client: Connection) => this.#logIn(client));
  }

  /** Chooses the ciphers based on the client's first line, which clients send unprompted. */
  #choose(socket: Socket): void {
    const take = () => {
      clearTimeout(timer);
      socket.off('readable', take);
      const firstBytes = socket.read() as Buffer | null;
      if (firstBytes !== null) socket.unshift(firstBytes);
      const server = KNOWS_FAST.test(firstBytes?.toString('latin1') ?? '') ? this.#fast : this.#ssh;
      server.injectSocket(socket);
    };
    const timer = setTimeout(take, INTRODUCES_WITHIN_MS);
    socket.once('close', () => clearTimeout(timer));
    socket.on('readable', take);
  }

  #accept(socket: Socket): void {
    const network = clientNetworkOf(socket.remoteAddress);
    socket.on('error', () => {});
    if (this.#served === null || !this.#admit(network, socket)) {
      socket.destroy();
      return;
    }
    this.#open.set(socket, network);
    const late = setTimeout(() => {
      if (this.#pending.leave(network, socket)) socket.destroy();
    }, LOGIN_MS);
    socket.once('close', () => {
      clearTimeout(late);
      this.#pending.leave(network, socket);
      this.#open.delete(socket);
    });
    socket.setNoDelay(true);
    // Each channel may add two listeners while it waits for the socket to drain.
    socket.setMaxListeners(4 * MAX_CHANNELS);
    this.#choose(socket);
  }

  /** Returns false if there is no room in total or for this network. */
  #admit(network: string, socket: Socket): boolean {
    let ofNetwork = 0;
    for (const other of this.#open.values()) if (other === network) ofNetwork += 1;
    if (this.#open.size >= MAX_CONNECTIONS || ofNetwork >= MAX_CONNECTIONS_PER_NETWORK) return false;
    return this.#pending.enter(network, socket, (dropped) => {
      this.#open.delete(dropped);
      dropped.destroy();
    });
  }

  #logIn(client: Connection): void {
    const { log } = this.#options;
    const { deps, tunnels } = this.#served!;
    const socket = socketOf(client);
    const address = socket.remoteAddress ?? '';
    let attempts = 0;
    let connected: Connected | null = null;
    // An error on one connection must not affect any other.
    client.on('error', () => socket.destroy());
    client.on('authentication', (context) => {
      attempts += 1;
      if (attempts > MAX_ATTEMPTS) {
        client.end();
        return;
      }
      this.#accessOf(context, address).then(
        (access) => {
          if (access === null) return context.reject(['publickey']);
          // Clients first ask which of their keys are accepted.
          if ((context as PublicKeyAuthContext).signature !== undefined) {
            const login = readLoginName(context.username);
            connected = { ...login, opener: access, socket, tunnels, onCut: () => client.end() };
          }
          context.accept();
        },
        (error) => {
          log.error({ err: error }, 'SSH login failed');
          client.end();
        },
      );
    });
    client.once('ready', () => {
      const network = this.#open.get(socket);
      if (connected === null || network === undefined) return client.end();
      this.#pending.loggedIn(network, socket);
      serve(client, connected, deps.settings.serviceDomain);
      const { instanceId, user, opener } = connected;
      this.#watchAccess({ opener, instanceId, outlivesStop: false, end: connected.onCut }, socket);
      const of = {
        instance: instanceId,
        ...(user !== null && { user }),
        account: opener.accountId,
        key: opener.sshKeyId,
      };
      log.info(of, 'SSH connection opened');
      const began = performance.now();
      const end = deps.fleet.connections.begin(instanceId);
      socket.once('close', () => {
        end();
        log.info({ ...of, seconds: Math.round(performance.now() - began) / 1_000 }, 'SSH connection closed');
      });
    });
  }

  /** Ensures that a connection ends together with its instance or key, even if it has no session. */
  #watchAccess(loggedIn: LoggedIn, socket: Socket): void {
    this.#loggedIn.add(loggedIn);
    // Detects changes made during the login.
    const checking = setTimeout(() => this.#watch?.check([loggedIn]), CHECKED_AFTER_MS).unref();
    socket.once('close', () => {
      clearTimeout(checking);
      this.#loggedIn.delete(loggedIn);
    });
  }

  /** Returns the caller's access, or null unless the key belongs to the account that rents the instance. */
  async #accessOf(context: AuthContext, address: string): Promise<SshAccess | null> {
    if (context.method !== 'publickey') return null;
    const { key, signature, blob, hashAlgo, username } = context;
    // RSA signatures with SHA-1 no longer prove anything.
    if (!SSH_KEY_TYPES.includes(key.algo) || (key.algo === 'ssh-rsa' && hashAlgo === undefined)) return null;
    const { instanceId } = readLoginName(username);
    const access = await findSshAccess(this.#served!.deps, instanceId, key.data, address);
    if (access === null || signature === undefined || blob === undefined) return access;
    const parsed = ssh2.utils.parseKey(key.data);
    if (parsed instanceof Error) return null;
    const [publicKey] = Array.isArray(parsed) ? parsed : [parsed];
    return publicKey?.verify(blob, signature, hashAlgo) === true ? access : null;
  }
}

/** Ends connections once their sessions have displayed the reason. */
function endSoon(connections: readonly LoggedIn[]): void {
  for (const { end } of connections) setTimeout(end, READS_WITHIN_MS).unref();
}

/** Serves everything that a client may open after its login: sessions, and connections to ports and sockets inside. */
function serve(client: Connection, connected: Connected, serviceDomain: string): void {
  const { tunnels, opener, instanceId, socket, onCut } = connected;
  let channels = 0;
  const hosts = new Set([...LOOPBACK, instanceId, `${instanceId}.${serviceDomain}`]);
  const agent = new AgentForwarding(client, connected);
  const count = (channel: { once(event: 'close', call: () => void): unknown }) => {
    channels += 1;
    channel.once('close', () => {
      channels -= 1;
    });
  };
  const refuse = (reject: () => void, message: string) => refuseChannel(client, reject, message);
  const forward = (accept: () => ServerChannel | undefined, reject: () => void, open: () => Promise<Tunnel>) => {
    channels += 1;
    open().then(
      (tunnel) => {
        channels -= 1;
        const channel = accept();
        if (channel === undefined) return tunnel.destroy();
        count(channel);
        joinPort(channel, tunnel, socket);
        tunnel.once('error', (error) => {
          if (error instanceof TunnelRefused) onCut();
        });
      },
      (error: Error) => {
        channels -= 1;
        const isKnown = error instanceof TunnelRefused || error instanceof RelayRefused;
        refuse(reject, isKnown ? error.message : 'the connection failed');
        if (error instanceof TunnelRefused && (error.reason === 'unknown' || error.reason === 'ending')) onCut();
      },
    );
  };
  client.on('session', (accept, reject) => {
    if (channels >= MAX_CHANNELS) return refuse(reject, TOO_MANY);
    const session = accept();
    count(session);
    serveSession(session, connected, agent);
  });
  client.on('tcpip', (accept, reject, { destIP, destPort }) => {
    if (channels >= MAX_CHANNELS) return refuse(reject, TOO_MANY);
    if (!hosts.has(destIP)) return refuse(reject, `only localhost on ${instanceId} can be reached, not other hosts`);
    if (destPort < 1 || destPort > 65_535) return refuse(reject, 'the port must be 1 to 65535');
    forward(accept, reject, () => tunnels.open({ opener, instanceId, target: { kind: 'port', port: destPort } }));
  });
  client.on('openssh.streamlocal' as 'tcpip', (accept, reject, info) => {
    const { socketPath } = info as unknown as { socketPath: string };
    if (channels >= MAX_CHANNELS) return refuse(reject, TOO_MANY);
    if (!IS_SOCKET_PATH.test(socketPath))
      return refuse(reject, 'the socket must be an absolute path of at most 107 bytes');
    forward(accept, reject, () => connectUnix(connected, socketPath));
  });
}

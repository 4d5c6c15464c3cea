import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import {
  type AgentControl,
  agentControl,
  type GatewayControl,
  MAX_FRAME_BYTES,
  MAX_TUNNELS_PER_INSTANCE,
  type Replay,
  TUNNEL_KINDS_HEADER,
  TUNNEL_USERS,
  TUNNELS_PATH,
  TunnelSocket,
  type TunnelTarget,
  WANT_SECONDS,
} from '../agent-protocol/tunnel-protocol.js';
import type { SettlingDeps } from '../domain/billing/deps.js';
import type { FleetDeps } from '../domain/fleet/deps.js';
import { type Opener, type Reach, reachOf } from '../domain/fleet/reach.js';
import { bearerOf } from '../domain/kernel/bearer.js';
import { type Access, ReachWatch } from './reach-watch.js';

/*
 * Opens tunnels into instances for every kind of access (SSH, web ports, logs):
 *
 *   const tunnel = await tunnels.open({ opener: { accountId, apiKeyId, sshKeyId }, instanceId, target }, signal);
 *
 * `target` is a TunnelTarget from src/agent-protocol/tunnel-protocol.ts: exec, shell, port or logs. `open` resolves once the
 * agent has opened the tunnel. It rejects with TunnelRefused, whose `reason` is a code and whose message is for the
 * renter. `tunnel` is a byte Duplex with backpressure and half-close, which also has these members:
 *   tunnel.id                    the id shown in the log
 *   tunnel.stderr                Readable, for exec without a terminal and for logs
 *   tunnel.resize(columns, rows), tunnel.signal(name), tunnel.hangUp()
 *   tunnel.exitCode              number | null | undefined; set by `end`, undefined if it was disconnected
 *   tunnel.replay, wasTaken      for a shell: the part of its output that is sent, and whether another client took over
 * When the tunnel is disconnected, it is destroyed with an error. This happens if its agent crashes, if the instance, the
 * opener's key or this gateway ends, or if the account is no longer in good standing. The caller of `open` destroys the
 * tunnel once it is no longer needed.
 * There can be up to 256 tunnels per instance, 512 per host (but at least 64 per instance), and 5,000 per process.
 */

const MAX_TUNNELS = 5_000;
const MAX_TUNNELS_PER_HOST = 512;
/** Number of tunnels guaranteed to an instance regardless of its neighbours. At most eight instances share a host. */
const GUARANTEED_TUNNELS = 64;
const TUNNEL_ID_BYTES = 16;
/**
 * Time limit for opening a tunnel, starting when the agent dials. It is generous because an engine that receives a
 * hundred commands concurrently is slow.
 */
const OPENS_WITHIN_MS = 60_000;
/** Tunnel kinds that every agent supports. */
const OLDEST_KINDS: readonly TunnelTarget['kind'][] = ['exec', 'port', 'logs'];
/** Limits on an agent's control messages in one tunnel, which needs only three. */
const AGENT_CONTROLS = { max: 32, maxBytes: 8_192 };

export type RefusalReason =
  | 'unknown'
  | 'starting'
  | 'stopped'
  | 'destroyed'
  | 'unreachable'
  | 'no_agent'
  | 'busy'
  | 'no_listener'
  | 'too_old'
  | 'failed'
  | 'cancelled'
  | 'ending';

/** Thrown if a tunnel is refused. The message is for the renter. */
export class TunnelRefused extends Error {
  constructor(
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(message);
  }
}

export interface TunnelRequest {
  opener: Opener;
  instanceId: string;
  target: TunnelTarget;
}

export interface Tunnel extends Duplex {
  readonly id: string;
  readonly stderr: Duplex;
  /** Exit code of a command that has ended. It is null if the engine doesn't know it, and undefined before the end. */
  readonly exitCode: number | null | undefined;
  /** A shell's replayed output, or null for any other tunnel. */
  readonly replay: Replay | null;
  /** Whether another client has connected to the shell. */
  readonly wasTaken: boolean;
  resize(columns: number, rows: number): void;
  signal(name: (GatewayControl & { type: 'signal' })['name']): void;
  /** Ends the tunnel as closing a terminal would, without keeping a shell. */
  hangUp(): void;
}

export interface TunnelsOptions {
  deps: SettlingDeps & Pick<FleetDeps, 'fleet'>;
  log: Logger;
  /** URL at which agents reach this particular gateway, or null for the URL shared by all gateways. */
  tunnelsUrl: string | null;
}

/** This process's tunnels, both requested and open ones. */
export class Tunnels {
  readonly #deps: TunnelsOptions['deps'];
  readonly #log: Logger;
  readonly #tunnelsUrl: string | null;
  readonly #dialled = new Map<string, Pending>();
  readonly #open = new Set<Open>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    // A host may send thousands of frames in one packet, so other work gets its turn after each frame.
    allowSynchronousEvents: false,
  });
  readonly #unsubscribe: () => void;
  readonly #watch: ReachWatch<Open>;
  #isClosed = false;

  constructor({ deps, log, tunnelsUrl }: TunnelsOptions) {
    this.#deps = deps;
    this.#log = log;
    this.#tunnelsUrl = tunnelsUrl;
    this.#watch = new ReachWatch({ deps, open: this.#open, onOver: (entries) => this.#cut(entries) });
    this.#unsubscribe = deps.db.notices.subscribe({
      // The machine's token was revoked or replaced, so its previous holder is no longer trusted.
      onNotice: (notice) => {
        if (notice.table === 'host') this.#cut([...this.#open].filter(({ machineId }) => machineId === notice.machine));
      },
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Returns the number of open tunnels of this kind. */
  count(kind: TunnelTarget['kind']): number {
    let count = 0;
    for (const { target } of this.#open) if (target.kind === kind) count += 1;
    return count;
  }

  /** Opens a tunnel. Rejects with TunnelRefused. */
  async open(wanted: TunnelRequest, signal?: AbortSignal): Promise<Tunnel> {
    const { opener, instanceId, target } = wanted;
    const reach = await reachOf(this.#deps, opener, instanceId);
    if (this.#isClosed) throw ending();
    const machineId = checkReach(reach, instanceId, target);
    const id = randomBytes(TUNNEL_ID_BYTES).toString('hex');
    const entry: Open = { ...wanted, outlivesStop: target.kind === 'logs', machineId, id, tunnel: null, cutBy: null };
    this.#checkRoom(entry);
    this.#open.add(entry);
    // The key may have been revoked after it was looked up but before there was an entry to cut. SSH connections are
    // instead checked as a whole.
    if (opener.apiKeyId !== null) this.#watch.check([entry]);
    const openedAt = performance.now();
    try {
      const tunnel = await this.#dial(entry, signal);
      // Reading logs doesn't count as using the instance.
      const end = target.kind === 'logs' ? () => {} : this.#deps.fleet.connections.begin(instanceId);
      tunnel.once('close', () => {
        end();
        this.#open.delete(entry);
        const seconds = Math.round(performance.now() - openedAt) / 1_000;
        const { bytesIn, bytesOut } = tunnel;
        const of = { tunnel: entry.id, instance: instanceId, kind: target.kind };
        this.#log.info({ ...of, seconds, bytesIn, bytesOut }, 'tunnel closed');
      });
      return tunnel;
    } catch (error) {
      this.#open.delete(entry);
      // The agent may have dialled without having opened the tunnel yet.
      entry.tunnel?.destroy();
      throw error;
    }
  }

  /** Takes over the connection of an agent that dials. Returns false for any other connection. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { url = '' } = request;
    if (!url.startsWith(TUNNELS_PATH)) return false;
    this.#accept(url.slice(TUNNELS_PATH.length), request, socket, head).catch((error) => {
      this.#log.error({ err: error }, 'tunnel could not be accepted');
      refuseUpgrade(socket, '503 Service Unavailable');
    });
    return true;
  }

  /** Disconnects all tunnels and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#watch.close();
    for (const entry of [...this.#open]) this.#end(entry, ending());
    // This includes tunnels that ended without a close frame from their agent, because the process would wait for them.
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  async #dial(entry: Open, signal: AbortSignal | undefined): Promise<GatewayTunnel> {
    const { id, machineId } = entry;
    // The subscription to notices must be ready first. Otherwise, a notice would be lost if the agent is waiting at
    // another gateway.
    await this.#deps.db.notices.ready();
    if (entry.cutBy !== null) throw entry.cutBy;
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#dialled.delete(id);
      };
      const late = () => {
        pending.fail(new TunnelRefused('unreachable', `${entry.instanceId}'s machine is not responding`));
      };
      const pending: Pending = {
        entry,
        dialled: () => {
          clearTimeout(timer);
          timer = setTimeout(late, OPENS_WITHIN_MS);
        },
        take: (tunnel) => {
          done();
          resolve(tunnel);
        },
        fail: (error) => {
          done();
          reject(error);
        },
      };
      const onAbort = () => pending.fail(new TunnelRefused('cancelled', 'the tunnel was cancelled'));
      let timer = setTimeout(late, WANT_SECONDS * 1_000);
      this.#dialled.set(id, pending);
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#deps.fleet.tunnelRequests.publish(machineId, { id, url: this.#tunnelsUrl });
    });
  }

  async #accept(id: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => {});
    const token = bearerOf(request.headers.authorization);
    const machineId = token === undefined ? null : await this.#deps.fleet.tokens.machineOf(token);
    if (machineId === null) return refuseUpgrade(socket, '401 Unauthorized');
    const pending = this.#dialled.get(id);
    if (pending === undefined || pending.entry.machineId !== machineId || pending.entry.tunnel !== null)
      return refuseUpgrade(socket, '404 Not Found');
    if (!knows(request, pending.entry.target)) {
      pending.fail(new TunnelRefused('too_old', `the host agent on ${pending.entry.instanceId}'s machine is too old`));
      return refuseUpgrade(socket, '404 Not Found');
    }
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      const tunnel = new GatewayTunnel(ws, id);
      pending.entry.tunnel = tunnel;
      pending.dialled();
      tunnel.once('close', () => pending.fail(new TunnelRefused('unreachable', 'the machine closed the tunnel')));
      tunnel.on('error', () => {});
      tunnel.once('control', (message: AgentControl) => {
        if (message.type === 'opened') {
          tunnel.replay = message.shell ?? null;
          return pending.take(tunnel);
        }
        if (message.type === 'refused') {
          const reason = message.reason === 'not_running' ? 'starting' : message.reason;
          pending.fail(new TunnelRefused(reason, message.message));
        }
        tunnel.destroy();
      });
      const { instanceId, target } = pending.entry;
      tunnel.sendControl({ type: 'open', instance: instanceId, target });
    });
  }

  #checkRoom({ instanceId, machineId }: Open): void {
    let [ofInstance, ofHost] = [0, 0];
    for (const other of this.#open) {
      if (other.machineId !== machineId) continue;
      ofHost += 1;
      if (other.instanceId === instanceId) ofInstance += 1;
    }
    const refusal = refusalOf({ ofInstance, ofHost, ofProcess: this.#open.size });
    if (refusal !== null) throw new TunnelRefused('busy', refusal);
  }

  #cut(entries: readonly Open[]): void {
    for (const entry of entries)
      this.#end(entry, new TunnelRefused('stopped', `${entry.instanceId} is no longer reachable`));
  }

  #end(entry: Open, why: TunnelRefused): void {
    const { id, tunnel, target } = entry;
    entry.cutBy = why;
    this.#dialled.get(id)?.fail(why);
    // A shell ends if its client loses access to the instance, but is kept if only this gateway is shutting down.
    if (target.kind === 'shell' && why.reason !== 'ending') tunnel?.hangUp();
    tunnel?.destroy(why);
  }
}

interface Open extends TunnelRequest, Access {
  id: string;
  machineId: string;
  /** Null until the agent has dialled. */
  tunnel: GatewayTunnel | null;
  /** Set when the tunnel is cut, which may be before the agent is notified. */
  cutBy: TunnelRefused | null;
}

interface Pending {
  entry: Open;
  dialled(): void;
  take(tunnel: GatewayTunnel): void;
  fail(error: TunnelRefused): void;
}

class GatewayTunnel extends TunnelSocket<AgentControl, GatewayControl> implements Tunnel {
  exitCode: number | null | undefined;
  replay: Replay | null = null;
  wasTaken = false;

  constructor(
    ws: ConstructorParameters<typeof TunnelSocket>[0],
    readonly id: string,
  ) {
    super(ws, agentControl, AGENT_CONTROLS);
    this.on('control', (message: AgentControl) => {
      if (message.type !== 'exit' && message.type !== 'taken') return;
      if (message.type === 'exit') this.exitCode = message.code;
      else this.wasTaken = true;
      this.finishReading();
      // There is no reader left for anything that is still being written.
      this.once('end', () => this.destroy());
    });
  }

  resize(columns: number, rows: number): void {
    this.sendControl({ type: 'resize', columns, rows });
  }

  signal(name: (GatewayControl & { type: 'signal' })['name']): void {
    this.sendControl({ type: 'signal', name });
  }

  /** Hangs up. The agent receives the message even though the tunnel is destroyed afterwards. */
  hangUp(): void {
    this.signal('HUP');
    this.closeGently();
  }
}

/**
 * Returns whether the agent supports this kind of tunnel. An older agent ignores unknown kinds and would run a command
 * as the container's user instead of the requested one.
 */
function knows({ headers }: IncomingMessage, target: TunnelTarget): boolean {
  const header = headers[TUNNEL_KINDS_HEADER];
  const named = new Set<string>([...OLDEST_KINDS, ...(typeof header === 'string' ? header.split(',') : [])]);
  const hasUser = (target.kind === 'exec' || target.kind === 'shell') && target.user !== undefined;
  return named.has(target.kind) && (!hasUser || named.has(TUNNEL_USERS));
}

/** Returns why an instance can't get another tunnel, given the numbers of open ones, or null if it can. */
export function refusalOf(open: { ofInstance: number; ofHost: number; ofProcess: number }): string | null {
  if (open.ofInstance >= MAX_TUNNELS_PER_INSTANCE)
    return `the instance has ${MAX_TUNNELS_PER_INSTANCE} open tunnels, the maximum; close one first`;
  const isHostFull = open.ofHost >= MAX_TUNNELS_PER_HOST && open.ofInstance >= GUARANTEED_TUNNELS;
  return isHostFull || open.ofProcess >= MAX_TUNNELS ? 'too many tunnels are open; try again later' : null;
}

/** Returns the machine on which the instance runs. Throws if the instance can't be reached. */
function checkReach({ state, machineId }: Reach, instanceId: string, { kind }: TunnelTarget): string {
  if (state === 'unknown') throw new TunnelRefused('unknown', 'no such instance');
  if (state === 'destroyed') throw new TunnelRefused('destroyed', `${instanceId} has been destroyed`);
  if (machineId === null)
    throw new TunnelRefused('no_agent', `${instanceId} has no container: its machine has no host agent`);
  if (state === 'running' || (kind === 'logs' && state !== 'unreachable')) return machineId;
  if (state === 'stopped') throw new TunnelRefused('stopped', `${instanceId} is stopped`);
  if (state === 'starting') throw new TunnelRefused('starting', `${instanceId} is not running yet`);
  throw new TunnelRefused('unreachable', `${instanceId}'s machine is unreachable`);
}

function ending(): TunnelRefused {
  return new TunnelRefused('ending', 'the gateway is shutting down; connect again');
}

function refuseUpgrade(socket: Duplex, status: string): void {
  if (!socket.destroyed) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

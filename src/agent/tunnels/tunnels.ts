import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { Logger } from 'pino';
import { WebSocket } from 'ws';
import type { WantedTunnel } from '../../agent-protocol/protocol.js';
import {
  type AgentControl,
  type ExecTarget,
  type GatewayControl,
  gatewayControl,
  LOG_MARKS,
  type LogsTarget,
  MAX_FRAME_BYTES,
  MAX_TUNNELS_PER_HOST,
  MAX_TUNNELS_PER_INSTANCE,
  TUNNEL_KINDS,
  TUNNEL_KINDS_HEADER,
  TUNNEL_USERS,
  TUNNELS_PATH,
  TunnelSocket,
  type TunnelTarget,
} from '../../agent-protocol/tunnel-protocol.js';
import { isSecureUrl } from '../../std/secure-url.js';
import { type Engine, EngineFault } from '../engine/engine.js';
import { startFault } from '../engine/start-faults.js';
import type { Gateway } from '../gateway.js';
import { lastLines } from './last-lines.js';
import { inShell, isInShell } from './login.js';
import { markedLines } from './marked-lines.js';
import { NoListener, Ports } from './ports.js';
import { exitCodeOf, hangUp, resizeSoon, signalGroup, signalTo } from './running.js';
import { Shells, TooManyShells } from './shells.js';

/** Maximum ids to remember. They are remembered because an id can be listed more than once. */
const MAX_KNOWN_IDS = 4_096;
const DIALS_WITHIN_MS = 10_000;
const MAX_MESSAGE = 1_000;

export interface TunnelsDeps {
  engine: Engine;
  log: Logger;
  gateway: Gateway;
  machineId: string;
  /** Returns the container as last seen, or null if the machine does not have it. */
  seen(instanceId: string): { running: boolean } | null;
}

type Tunnel = TunnelSocket<GatewayControl, AgentControl>;
class Refused extends Error {
  constructor(
    readonly reason: (AgentControl & { type: 'refused' })['reason'],
    message: string,
  ) {
    super(message);
  }
}

/** Dials the tunnels that the gateway requests, and connects each to something inside a container. */
export class AgentTunnels {
  readonly #deps: TunnelsDeps;
  readonly #ports: Ports;
  readonly #shells: Shells;
  readonly #known = new Set<string>();
  readonly #open = new Map<string, number>();
  readonly #sockets = new Set<WebSocket>();
  readonly #hungUp: Promise<void>;

  constructor(deps: TunnelsDeps) {
    this.#deps = deps;
    this.#ports = new Ports(deps.engine, deps.log);
    this.#hungUp = this.#hangUpLeftovers();
    this.#shells = new Shells(deps.engine, this.#hungUp);
  }

  /** Dials the tunnels that have not been dialled yet. */
  dial(wanted: readonly WantedTunnel[]): void {
    for (const { id, url } of wanted) {
      if (this.#known.has(id) || this.#sockets.size >= MAX_TUNNELS_PER_HOST) continue;
      this.#known.add(id);
      for (const old of this.#known) {
        if (this.#known.size <= MAX_KNOWN_IDS) break;
        this.#known.delete(old);
      }
      this.#dial(id, url);
    }
  }

  /** Cuts all tunnels, and hangs up the kept shells. */
  end(): void {
    this.#shells.end();
    for (const ws of this.#sockets) ws.terminate();
    this.#ports.close();
  }

  #dial(id: string, url: string | null): void {
    const { gateway, log } = this.#deps;
    const base = url === null || isSafe(url) ? (url ?? gateway.url) : null;
    // The request contains the token, so plaintext is only allowed within this computer.
    if (base === null) {
      log.warn({ tunnel: id }, 'refused to open a tunnel to a URL without TLS');
      return;
    }
    const ws = new WebSocket(`${base.replace(/\/+$/, '').replace(/^http/, 'ws')}${TUNNELS_PATH}${id}`, {
      headers: {
        authorization: `Bearer ${gateway.token}`,
        [TUNNEL_KINDS_HEADER]: [...TUNNEL_KINDS, TUNNEL_USERS].join(),
      },
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      handshakeTimeout: DIALS_WITHIN_MS,
      // Masking keeps web pages from fooling old proxies. The agent is not a browser, so masking would only cost time.
      generateMask: (mask) => mask.fill(0),
    });
    this.#sockets.add(ws);
    ws.once('close', () => this.#sockets.delete(ws));
    const tunnel: Tunnel = new TunnelSocket<GatewayControl, AgentControl>(ws, gatewayControl);
    tunnel.on('error', (error) => log.debug({ tunnel: id, message: error.message }, 'tunnel disconnected'));
    tunnel.once('control', (message: GatewayControl) => {
      if (message.type === 'open') void this.#serve(id, tunnel, message.instance, message.target);
      else tunnel.destroy();
    });
  }

  async #serve(id: string, tunnel: Tunnel, instanceId: string, target: TunnelTarget): Promise<void> {
    const { log } = this.#deps;
    const open = this.#open.get(instanceId) ?? 0;
    this.#open.set(instanceId, open + 1);
    try {
      if (open >= MAX_TUNNELS_PER_INSTANCE) throw new Refused('busy', 'too many open tunnels to this instance');
      const seen = this.#deps.seen(instanceId);
      const isThere = target.kind === 'logs' ? seen !== null : seen?.running;
      if (!isThere) throw new Refused('not_running', `${instanceId} is not running`);
      log.debug({ tunnel: id, instance: instanceId, kind: target.kind }, 'opening a tunnel');
      if (target.kind === 'exec') await this.#exec(tunnel, instanceId, target);
      else if (target.kind === 'shell') await this.#shells.serve(tunnel, instanceId, target);
      else if (target.kind === 'port') await this.#port(tunnel, instanceId, target.port);
      else await this.#logs(tunnel, instanceId, target);
    } catch (error) {
      if (!tunnel.destroyed) tunnel.sendControl({ type: 'refused', ...refusalOf(error as Error) });
      else log.debug({ tunnel: id, message: (error as Error).message }, 'tunnel failed');
    } finally {
      const left = (this.#open.get(instanceId) ?? 1) - 1;
      if (left > 0) this.#open.set(instanceId, left);
      else this.#open.delete(instanceId);
    }
  }

  async #exec(tunnel: Tunnel, instanceId: string, target: ExecTarget): Promise<void> {
    const { terminal, env, command, argv, user = null } = target;
    await this.#hungUp;
    const spec = { argv: argv ?? inShell(command, terminal), env, terminal, user };
    const exec = await this.#deps.engine.exec(instanceId, spec);
    tunnel.on('control', (message: GatewayControl) => {
      if (message.type === 'resize' && terminal !== null) void resizeSoon(exec, message);
      else if (message.type === 'signal') void signalTo(exec, message.name);
    });
    const gone = tunnel.gone.then(() => 'gone' as const);
    tunnel.sendControl({ type: 'opened' });
    exec.stdin.on('error', () => {});
    const output = exec.output(tunnel, tunnel.stderr).then(
      () => 'done' as const,
      (error: Error) => error,
    );
    // The size is set before any input arrives, because typed commands may query it.
    if (terminal !== null) await Promise.race([resizeSoon(exec, terminal), output, gone]);
    tunnel.pipe(exec.stdin);
    const outcome = await Promise.race([output, gone]);
    const code = outcome === 'gone' ? null : await exitCodeOf(exec);
    // The engine also disconnects if a command ends without reading its input, but then there is an exit code.
    if (outcome === 'gone' || (outcome !== 'done' && code === null)) {
      // Unread bytes may never be read.
      tunnel.destroy(outcome === 'gone' ? undefined : outcome);
      await hangUp(exec);
      exec.detach();
      return;
    }
    // Docker drops a terminal whose input ends, but leaves the command running.
    if (code === null && terminal !== null) await hangUp(exec);
    exec.detach();
    // A client may be slow to read the last bytes.
    await tunnel.taken();
    tunnel.sendControl({ type: 'exit', code: code === null ? null : Math.min(Math.max(code, 0), 255) });
    // Discards the remaining input, so that the gateway's end of the tunnel, which follows it, is received.
    tunnel.unpipe(exec.stdin).resume();
    await gone;
  }

  /**
   * Hangs up commands that a previous agent started before it exited, because no client reads their output any more.
   */
  async #hangUpLeftovers(): Promise<void> {
    const { engine, machineId, log } = this.#deps;
    try {
      const abandoned = await engine.abandoned();
      for (const pid of abandoned) signalGroup(pid, 'HUP');
      const containers = await engine.list(machineId);
      const running = containers.filter((container) => container.running);
      const commands = await Promise.all(running.map(({ instanceId }) => engine.commands(instanceId)));
      const engines = commands.flat().filter(({ argv }) => isInShell(argv));
      for (const { pid } of engines) signalGroup(pid, 'HUP');
      const left = abandoned.length + engines.length;
      if (left > 0) log.info({ commands: left }, "hung up the previous agent's commands");
    } catch (error) {
      log.warn({ message: (error as Error).message }, "the previous agent's commands may still be running");
    }
  }

  async #port(tunnel: Tunnel, instanceId: string, port: number): Promise<void> {
    const socket: Socket = await this.#ports.connect(instanceId, port);
    if (tunnel.destroyed) return void socket.destroy();
    tunnel.sendControl({ type: 'opened' });
    socket.on('error', () => tunnel.destroy());
    socket.once('close', () => tunnel.end());
    tunnel.once('close', () => socket.destroy());
    tunnel.pipe(socket).pipe(tunnel);
    await new Promise((resolve) => tunnel.once('close', resolve));
  }

  async #logs(tunnel: Tunnel, instanceId: string, { tail, since, follow }: LogsTarget): Promise<void> {
    const ending = new AbortController();
    tunnel.once('close', () => ending.abort());
    if (tunnel.destroyed) return;
    const logs = await this.#deps.engine.logs(instanceId, { tail, since, follow }, ending.signal);
    tunnel.sendControl({ type: 'opened' });
    tunnel.resume();
    const lines = tail === null || follow ? tunnel : lastLines(tunnel, tail);
    const out = markedLines(lines, LOG_MARKS.stdout, follow);
    const err = markedLines(lines, LOG_MARKS.stderr, follow);
    await logs.output(out, err).catch((error) => {
      if (!ending.signal.aborted) tunnel.destroy(error as Error);
    });
    await Promise.all([out, err].map((each) => finished(each.end())));
    if (lines !== tunnel) await finished(lines.end());
    tunnel.end();
    await new Promise<void>((resolve) => (tunnel.destroyed ? resolve() : void tunnel.once('close', resolve)));
  }
}

function refusalOf(error: Error): Pick<AgentControl & { type: 'refused' }, 'reason' | 'message'> {
  const message = error.message.slice(0, MAX_MESSAGE);
  if (error instanceof Refused) return { reason: error.reason, message };
  if (error instanceof TooManyShells) return { reason: 'busy', message };
  if (error instanceof NoListener) return { reason: 'no_listener', message };
  if (error instanceof EngineFault && (error.kind === 'missing' || error.kind === 'conflict'))
    return { reason: 'not_running', message: 'the container is not running' };
  // The engine's original message contains names of folders on the host.
  return { reason: 'failed', message: startFault(error.message, 'the command could not be started').message };
}

function isSafe(url: string): boolean {
  return URL.canParse(url) && isSecureUrl(new URL(url));
}

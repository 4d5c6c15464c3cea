import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { Logger } from 'pino';
import { WebSocket } from 'ws';
import { type Engine, EngineFault, type Exec } from '../engine/engine.js';
import type { Gateway } from '../gateway.js';
import type { WantedStream } from '../protocol.js';
import {
  type AgentControl,
  type ExecTarget,
  type GatewayControl,
  gatewayControl,
  type LogsTarget,
  MAX_FRAME_BYTES,
  MAX_STREAMS_PER_INSTANCE,
  MAX_STREAMS_PER_MACHINE,
  STREAMS_PATH,
  type StreamSignal,
  StreamSocket,
  type StreamTarget,
} from '../stream-protocol.js';
import { inShell, isInShell } from './login.js';
import { markedLines } from './marked-lines.js';
import { NoListener, Ports } from './ports.js';

/** Ids that are remembered: two gateways may name the same one. */
const REMEMBERED = 4_096;
const DIALS_WITHIN_MS = 10_000;
const RESIZE_TRIES = 20;
const RESIZE_AGAIN_MS = 50;
const HANG_UP_TRIES = 60;
const HANG_UP_AGAIN_MS = 500;
const EXIT_TRIES = 50;
const EXIT_AGAIN_MS = 20;
const MAX_WORDS = 1_000;

export interface StreamsDeps {
  engine: Engine;
  log: Logger;
  gateway: Gateway;
  machineId: string;
  /** As last seen of the machine's containers; null for one it does not have. */
  seen(instanceId: string): { running: boolean } | null;
}

type Stream = StreamSocket<GatewayControl, AgentControl>;
class Refused extends Error {
  constructor(
    readonly reason: (AgentControl & { type: 'refused' })['reason'],
    message: string,
  ) {
    super(message);
  }
}

/** Dials the streams that the gateway wants, and joins each to something inside a container. */
export class AgentStreams {
  readonly #deps: StreamsDeps;
  readonly #ports: Ports;
  readonly #known = new Set<string>();
  readonly #open = new Map<string, number>();
  readonly #sockets = new Set<WebSocket>();
  readonly #hungUp: Promise<void>;

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
    this.#ports = new Ports(deps.engine, deps.log);
    this.#hungUp = this.#hangUpLeftovers();
  }

  /** Those it does not know yet. */
  dial(wanted: readonly WantedStream[]): void {
    for (const { id, url } of wanted) {
      if (this.#known.has(id) || this.#sockets.size >= MAX_STREAMS_PER_MACHINE) continue;
      this.#known.add(id);
      for (const old of this.#known) {
        if (this.#known.size <= REMEMBERED) break;
        this.#known.delete(old);
      }
      this.#dial(id, url);
    }
  }

  /** Cuts all off. */
  end(): void {
    for (const ws of this.#sockets) ws.terminate();
    this.#ports.close();
  }

  #dial(id: string, url: string | null): void {
    const { gateway, log } = this.#deps;
    const base = url === null || isSafe(url) ? (url ?? gateway.url) : null;
    // The token travels with it: in clear only within this computer.
    if (base === null) {
      log.warn({ stream: id }, 'a stream is wanted at an address without TLS');
      return;
    }
    const ws = new WebSocket(`${base.replace(/\/+$/, '').replace(/^http/, 'ws')}${STREAMS_PATH}${id}`, {
      headers: { authorization: `Bearer ${gateway.token}` },
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      handshakeTimeout: DIALS_WITHIN_MS,
      // Masks keep a browser's page from fooling old proxies; this is no browser, and they would cost time.
      generateMask: (mask) => mask.fill(0),
    });
    this.#sockets.add(ws);
    ws.once('close', () => this.#sockets.delete(ws));
    const stream: Stream = new StreamSocket<GatewayControl, AgentControl>(ws, gatewayControl);
    stream.on('error', (error) => log.debug({ stream: id, message: error.message }, 'a stream broke off'));
    stream.once('control', (message: GatewayControl) => {
      if (message.type === 'open') void this.#serve(id, stream, message.instance, message.target);
      else stream.destroy();
    });
  }

  async #serve(id: string, stream: Stream, instanceId: string, target: StreamTarget): Promise<void> {
    const { log } = this.#deps;
    const open = this.#open.get(instanceId) ?? 0;
    this.#open.set(instanceId, open + 1);
    try {
      if (open >= MAX_STREAMS_PER_INSTANCE) throw new Refused('busy', 'too many streams of this instance are open');
      const seen = this.#deps.seen(instanceId);
      const isThere = target.kind === 'logs' ? seen !== null : seen?.running;
      if (!isThere) throw new Refused('not_running', `${instanceId} is not running`);
      log.debug({ stream: id, instance: instanceId, kind: target.kind }, 'a stream begins');
      if (target.kind === 'exec') await this.#exec(stream, instanceId, target);
      else if (target.kind === 'port') await this.#port(stream, instanceId, target.port);
      else await this.#logs(stream, instanceId, target);
    } catch (error) {
      if (!stream.destroyed) stream.say({ type: 'refused', ...refusalOf(error as Error) });
      else log.debug({ stream: id, message: (error as Error).message }, 'a stream failed');
    } finally {
      const left = (this.#open.get(instanceId) ?? 1) - 1;
      if (left > 0) this.#open.set(instanceId, left);
      else this.#open.delete(instanceId);
    }
  }

  async #exec(stream: Stream, instanceId: string, target: ExecTarget): Promise<void> {
    const { terminal, env, command, argv } = target;
    await this.#hungUp;
    const exec = await this.#deps.engine.exec(instanceId, { argv: argv ?? inShell(command), env, terminal });
    stream.on('control', (message: GatewayControl) => {
      if (message.type === 'resize' && terminal !== null) void resizeSoon(exec, message);
      else if (message.type === 'signal') void signalTo(exec, message.name);
    });
    const gone = new Promise<'gone'>((resolve) => {
      if (stream.destroyed) resolve('gone');
      stream.once('close', () => resolve('gone'));
    });
    stream.say({ type: 'opened' });
    exec.stdin.on('error', () => {});
    const output = exec.output(stream, stream.stderr).then(
      () => 'done' as const,
      (error: Error) => error,
    );
    // Before anything is typed: what is typed may ask for it.
    if (terminal !== null) await Promise.race([resizeSoon(exec, terminal), output, gone]);
    stream.pipe(exec.stdin);
    const outcome = await Promise.race([output, gone]);
    const code = outcome === 'gone' ? null : await exitCodeOf(exec);
    // The engine breaks off too when a command ends without reading its input; then there is a code.
    if (outcome === 'gone' || (outcome !== 'done' && code === null)) {
      if (outcome !== 'gone') stream.destroy(outcome);
      await hangUp(exec);
      exec.detach();
      return;
    }
    // Docker lets go of a terminal whose input ends, and leaves the command running.
    if (code === null && terminal !== null) await hangUp(exec);
    exec.detach();
    stream.say({ type: 'exit', code: code === null ? null : Math.min(Math.max(code, 0), 255) });
    // The rest of the input is nobody's; the gateway's end of the stream comes behind it.
    stream.unpipe(exec.stdin).resume();
    await gone;
  }

  /** What an agent that died without a word had begun: nobody reads it any more. */
  async #hangUpLeftovers(): Promise<void> {
    const { engine, machineId, log } = this.#deps;
    try {
      const containers = await engine.list(machineId);
      const running = containers.filter((container) => container.running);
      const commands = await Promise.all(running.map(({ instanceId }) => engine.commands(instanceId)));
      const left = commands.flat().filter(({ argv }) => isInShell(argv));
      for (const { pid } of left) signalGroup(pid, 'HUP');
      if (left.length > 0) log.info({ commands: left.length }, 'commands of the agent before were hung up');
    } catch (error) {
      log.warn({ message: (error as Error).message }, 'what the agent before left behind may go on');
    }
  }

  async #port(stream: Stream, instanceId: string, port: number): Promise<void> {
    const socket: Socket = await this.#ports.connect(instanceId, port);
    if (stream.destroyed) return void socket.destroy();
    stream.say({ type: 'opened' });
    socket.on('error', () => stream.destroy());
    socket.once('close', () => stream.end());
    stream.once('close', () => socket.destroy());
    stream.pipe(socket).pipe(stream);
    await new Promise((resolve) => stream.once('close', resolve));
  }

  async #logs(stream: Stream, instanceId: string, { tail, since, follow }: LogsTarget): Promise<void> {
    const ending = new AbortController();
    stream.once('close', () => ending.abort());
    if (stream.destroyed) return;
    const logs = await this.#deps.engine.logs(instanceId, { tail, since, follow }, ending.signal);
    stream.say({ type: 'opened' });
    stream.resume();
    const [out, err] = [markedLines(stream, 'o'), markedLines(stream, 'e')];
    await logs.output(out, err).catch((error) => {
      if (!ending.signal.aborted) stream.destroy(error as Error);
    });
    // A last line without an end is told too.
    await Promise.all([out, err].map((each) => finished(each.end())));
    stream.end();
    await new Promise<void>((resolve) => (stream.destroyed ? resolve() : void stream.once('close', resolve)));
  }
}

function refusalOf(error: Error): Pick<AgentControl & { type: 'refused' }, 'reason' | 'message'> {
  const message = error.message.slice(0, MAX_WORDS);
  if (error instanceof Refused) return { reason: error.reason, message };
  if (error instanceof NoListener) return { reason: 'no_listener', message };
  if (error instanceof EngineFault && (error.kind === 'missing' || error.kind === 'conflict'))
    return { reason: 'not_running', message };
  return { reason: 'failed', message };
}

/** The engine refuses it until the command has begun. */
async function resizeSoon(exec: Exec, { columns, rows }: { columns: number; rows: number }): Promise<void> {
  for (let tries = 0; tries < RESIZE_TRIES; tries += 1) {
    try {
      return await exec.resize(columns, rows);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RESIZE_AGAIN_MS));
    }
  }
}

/** As a terminal that is closed: what ignores it goes on. A busy engine may begin the command only now. */
async function hangUp(exec: Exec): Promise<void> {
  for (let tries = 0; tries < HANG_UP_TRIES; tries += 1) {
    const { pid } = await exec.state().catch(() => ({ pid: null }));
    if (pid !== null && signalGroup(pid, 'HUP')) return;
    await new Promise((resolve) => setTimeout(resolve, HANG_UP_AGAIN_MS));
  }
}

async function signalTo(exec: Exec, name: StreamSignal): Promise<void> {
  const { pid } = await exec.state().catch(() => ({ pid: null }));
  if (pid !== null) signalGroup(pid, name);
}

/** A command leads its process group. False when it does not yet, or has ended, or this host does not show it. */
function signalGroup(pid: number, name: StreamSignal): boolean {
  try {
    return pid > 1 && process.kill(-pid, `SIG${name}`);
  } catch {
    return false;
  }
}

/** The engine may know that the output has ended before it knows of the process. */
async function exitCodeOf(exec: Exec): Promise<number | null> {
  for (let tries = 0; tries < EXIT_TRIES; tries += 1) {
    try {
      const { running, exitCode } = await exec.state();
      if (!running) return exitCode;
    } catch {
      return null;
    }
    await new Promise((resolve) => setTimeout(resolve, EXIT_AGAIN_MS));
  }
  return null;
}

function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}

import { Writable } from 'node:stream';
import {
  type AgentControl,
  type GatewayControl,
  KEPT_OUTPUT_BYTES,
  KEPT_SHELL_SECONDS,
  MAX_SHELLS_PER_INSTANCE,
  type ShellTarget,
  type TunnelSocket,
} from '../../agent-protocol/tunnel-protocol.js';
import type { Engine, Exec } from '../engine/engine.js';
import { inShell } from './login.js';
import { OutputBuffer } from './output-buffer.js';
import { exitCodeOf, hangUp, resizeSoon } from './running.js';

const SEND_CHUNK_BYTES = 65_536;

type Tunnel = TunnelSocket<GatewayControl, AgentControl>;

/** Thrown if the instance has the maximum number of shells, and all of them have connected clients. */
export class TooManyShells extends Error {}

interface Entry {
  instanceId: string;
  begun: Promise<Shell>;
  /** Null until the shell has started. */
  shell: Shell | null;
}

/** The shells of all instances, which survive a lost connection. */
export class Shells {
  readonly #engine: Engine;
  readonly #ready: Promise<void>;
  readonly #keptMs: number;
  readonly #entries = new Map<string, Entry>();

  /** No shell starts before `ready` resolves. */
  constructor(engine: Engine, ready: Promise<void>, keptMs = KEPT_SHELL_SECONDS * 1_000) {
    this.#engine = engine;
    this.#ready = ready;
    this.#keptMs = keptMs;
  }

  /** Number of shells that are in use or kept. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Attaches the tunnel to its shell, starting one if needed, and resolves when the other side is gone. Throws
   * TooManyShells.
   */
  async serve(tunnel: Tunnel, instanceId: string, target: ShellTarget): Promise<void> {
    // An id is only valid within its instance.
    const name = `${instanceId}/${target.shell}`;
    const shell = await (this.#entries.get(name) ?? this.#begin(name, instanceId, target)).begun;
    shell.attach(tunnel, target);
    await tunnel.gone;
    // Unread bytes may never be read.
    tunnel.destroy();
  }

  /** Hangs up all shells. */
  end(): void {
    for (const { shell } of this.#entries.values()) shell?.hangUp();
  }

  #begin(name: string, instanceId: string, target: ShellTarget): Entry {
    this.#evictOldest(instanceId);
    const entry: Entry = { instanceId, begun: this.#start(name, instanceId, target), shell: null };
    this.#entries.set(name, entry);
    entry.begun.then(
      (shell) => {
        entry.shell = shell;
      },
      () => this.#entries.delete(name),
    );
    return entry;
  }

  async #start(name: string, instanceId: string, { env, terminal, user }: ShellTarget): Promise<Shell> {
    await this.#ready;
    const exec = await this.#engine.exec(instanceId, {
      argv: inShell(null, terminal),
      env,
      terminal,
      user: user ?? null,
    });
    return new Shell(exec, this.#keptMs, () => this.#entries.delete(name));
  }

  /** Evicts the shell that has been without a client for the longest time. */
  #evictOldest(instanceId: string): void {
    const own = [...this.#entries.values()].filter((entry) => entry.instanceId === instanceId);
    if (own.length < MAX_SHELLS_PER_INSTANCE) return;
    const left = own.flatMap(({ shell }) =>
      shell === null || shell.detachedAt === null ? [] : [{ shell, since: shell.detachedAt }],
    );
    if (left.length === 0)
      throw new TooManyShells(
        `the instance has ${MAX_SHELLS_PER_INSTANCE} terminals in browsers, the maximum; close one first`,
      );
    left.reduce((first, other) => (other.since < first.since ? other : first)).shell.release();
  }
}

/** A shell in a container, with its newest output. At most one tunnel is connected to it. */
class Shell {
  readonly #exec: Exec;
  readonly #keptMs: number;
  readonly #onOver: () => void;
  readonly #output = new OutputBuffer(KEPT_OUTPUT_BYTES);
  #tunnel: Tunnel | null = null;
  #detachedAt: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Shell output waiting for room in the tunnel. */
  #waiting: { chunk: Buffer; done: () => void } | null = null;
  /** Makes the loop that sends output to the tunnel check again. */
  #wake: () => void = () => {};
  /** Null while the shell is running. */
  #exit: { code: number | null } | null = null;
  #size: { columns: number; rows: number } | null = null;
  #isResizing = false;
  #isHungUp = false;
  #isOver = false;

  constructor(exec: Exec, keptMs: number, onOver: () => void) {
    this.#exec = exec;
    this.#keptMs = keptMs;
    this.#onOver = onOver;
    exec.stdin.on('error', () => {});
    void this.#follow();
  }

  /** Time when its tunnel was lost, or null while it has one. */
  get detachedAt(): number | null {
    return this.#detachedAt;
  }

  attach(tunnel: Tunnel, { seen, terminal }: ShellTarget): void {
    const before = this.#leave();
    before?.resume().sendControl({ type: 'taken' });
    clearTimeout(this.#timer);
    this.#tunnel = tunnel;
    this.#detachedAt = null;
    void tunnel.gone.then(() => this.#tunnel === tunnel && this.#leave());
    // The client disconnected while the shell was starting.
    if (tunnel.destroyed) return void this.#leave();
    const { start, end } = this.#output;
    const from = seen >= start && seen <= end ? seen : start;
    tunnel.sendControl({ type: 'opened', shell: { from, to: end } });
    tunnel.on('control', (message: GatewayControl) => {
      if (this.#tunnel !== tunnel) return;
      if (message.type === 'resize') void this.#resize(message);
      else if (message.type === 'signal' && message.name === 'HUP') this.hangUp();
    });
    void this.#begin(tunnel, terminal, from, from > seen);
  }

  /**
   * Hangs up the shell, as closing a terminal would. A shell that ignores SIGHUP keeps running and is released when its
   * connection is lost.
   */
  hangUp(): void {
    if (this.#isHungUp || this.#exit !== null) return;
    this.#isHungUp = true;
    void hangUp(this.#exec);
  }

  /** Releases the shell, which no client will request again. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#onOver();
    this.#take();
    if (this.#exit === null) void hangUp(this.#exec).finally(() => this.#exec.detach());
    else this.#exec.detach();
  }

  /** Sends output and accepts input once the shell has the terminal's size, because typed commands may query it. */
  async #begin(tunnel: Tunnel, terminal: ShellTarget['terminal'], from: number, isCut: boolean): Promise<void> {
    // A full-screen program redraws the terminal only if the size changes.
    if (isCut) await this.#resize({ columns: terminal.columns, rows: Math.max(1, terminal.rows - 1) });
    await this.#resize(terminal);
    if (this.#tunnel !== tunnel) return;
    tunnel.pipe(this.#exec.stdin, { end: false });
    await this.#send(tunnel, from);
  }

  async #send(tunnel: Tunnel, from: number): Promise<void> {
    let at = from;
    while (this.#tunnel === tunnel) {
      at = Math.max(at, this.#output.start);
      const bytes = this.#output.from(at, SEND_CHUNK_BYTES);
      at += bytes.length;
      // Bytes must not be overwritten in the buffer before they are sent.
      if (bytes.length > 0) await written(tunnel, bytes);
      else if (this.#waiting !== null) this.#take();
      else if (this.#exit !== null) return this.#finish(tunnel, this.#exit.code);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Ends the tunnel with the exit code. The gateway then closes it. */
  #finish(tunnel: Tunnel, code: number | null): void {
    this.#leave();
    tunnel.resume();
    tunnel.sendControl({ type: 'exit', code: code === null ? null : Math.min(Math.max(code, 0), 255) });
    this.release();
  }

  /** Disconnects and returns the current tunnel. */
  #leave(): Tunnel | null {
    const tunnel = this.#tunnel;
    if (tunnel === null) return null;
    this.#tunnel = null;
    this.#detachedAt = performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.release(), this.#keptMs).unref();
    tunnel.unpipe(this.#exec.stdin);
    // A missing client must not block the shell.
    this.#take();
    this.#wake();
    return tunnel;
  }

  async #follow(): Promise<void> {
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#waiting = { chunk, done };
        if (this.#tunnel === null) this.#take();
        else this.#wake();
      },
    });
    const isWhole = await this.#exec.output(sink, sink).then(
      () => true,
      () => false,
    );
    const code = await exitCodeOf(this.#exec);
    // The engine went down or dropped the terminal, so nothing more will be reported about the shell.
    if (!isWhole && code === null) await hangUp(this.#exec);
    this.#exit = { code };
    this.#wake();
  }

  #take(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting === null) return;
    this.#output.add(waiting.chunk);
    waiting.done();
  }

  /** Runs one resize at a time. While a window is being dragged, only the last size matters. */
  async #resize(size: { columns: number; rows: number }): Promise<void> {
    this.#size = size;
    if (this.#isResizing) return;
    this.#isResizing = true;
    while (this.#size !== null && this.#exit === null) {
      const wanted: { columns: number; rows: number } = this.#size;
      this.#size = null;
      await resizeSoon(this.#exec, wanted);
    }
    this.#isResizing = false;
  }
}

/** Resolves when the connection has accepted the bytes or is closed. */
function written(tunnel: Tunnel, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      tunnel.off('close', end);
      resolve();
    };
    tunnel.once('close', end);
    tunnel.write(bytes, end);
  });
}

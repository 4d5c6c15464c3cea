import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Engine, EngineFault } from '../engine/engine.js';
import { PORT_HELPER, PROGRAM } from '../program.js';

const STARTS_WITHIN_MS = 10_000;
const CONNECTS_WITHIN_MS = 10_000;
/** Idle time before a helper is ended. */
const IDLE_MS = 60_000;

/** Thrown if no program listens on the port. */
export class NoListener extends Error {}

/**
 * Connects to container ports. A helper program in the container's network connects to them, including those on its
 * loopback, and hands the connection over, so the image needs no additional programs. If this process can't enter that
 * network, it connects through the engine's network, which does not reach the container's loopback.
 */
export class Ports {
  readonly #helpers = new Map<string, Promise<Helper | null>>();

  constructor(
    private readonly engine: Engine,
    private readonly log: Logger,
  ) {}

  /** Rejects with NoListener or an EngineFault. */
  async connect(instanceId: string, port: number): Promise<Socket> {
    const helper = await this.#helper(instanceId);
    if (helper !== null) return helper.connect(port);
    const address = await this.engine.address(instanceId);
    if (address === null) throw new EngineFault('refused', "this host can't connect to its containers' ports");
    return connectDirectly(address, port);
  }

  close(): void {
    for (const helper of this.#helpers.values()) void helper.then((found) => found?.end());
  }

  async #helper(instanceId: string): Promise<Helper | null> {
    const known = this.#helpers.get(instanceId);
    const helper = await known;
    if (known !== undefined && (helper === null || helper?.isOfLivingNetwork)) return helper ?? null;
    // Another call may have started a different helper in the meantime.
    if (this.#helpers.get(instanceId) !== known) return this.#helper(instanceId);
    helper?.end();
    const next = this.#start(instanceId);
    this.#helpers.set(instanceId, next);
    const forget = () => {
      if (this.#helpers.get(instanceId) === next) this.#helpers.delete(instanceId);
    };
    next.then((started) => (started === null ? setTimeout(forget, IDLE_MS).unref() : started.onEnd(forget)), forget);
    return next;
  }

  async #start(instanceId: string): Promise<Helper | null> {
    const container = await this.engine.inspect(instanceId);
    if (container?.pid == null) throw new EngineFault('missing', 'the container is not running');
    const network = networkOf(container.pid);
    if (network === null) return null;
    try {
      return await Helper.start(container.pid, network);
    } catch (error) {
      this.log.warn(
        { message: (error as Error).message },
        "connecting to container ports only through the engine's network",
      );
      return null;
    }
  }
}

/** The helper process in one container's network. */
class Helper {
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #network: string;
  readonly #waiting = new Map<number, { resolve(socket: Socket): void; reject(error: Error): void }>();
  #lastId = 0;
  #idle: NodeJS.Timeout;

  private constructor(child: ChildProcess, pid: number, network: string) {
    this.#child = child;
    this.#pid = pid;
    this.#network = network;
    this.#idle = setTimeout(() => this.end(), IDLE_MS);
    child.on('message', (message, handle) => this.#take(message as Answer, handle as Socket | undefined));
    child.on('error', () => this.#fail());
    child.on('exit', () => this.#fail());
  }

  static async start(pid: number, network: string): Promise<Helper> {
    const isRoot = process.getuid?.() === 0;
    const enter = isRoot ? [] : ['--user', '--preserve-credentials'];
    const args = [...enter, '--net', `--target=${pid}`, process.execPath, PROGRAM, PORT_HELPER];
    const child = spawn('nsenter', args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {} });
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('nsenter did not start in time')), STARTS_WITHIN_MS);
      child.once('message', () => resolve());
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`nsenter exited with ${code}`)));
      child.once('message', () => clearTimeout(timer));
    }).catch((error) => {
      child.kill('SIGKILL');
      throw error;
    });
    return new Helper(child, pid, network);
  }

  /** Whether the helper's network is still the container's. False once the container was restarted. */
  get isOfLivingNetwork(): boolean {
    return this.#child.connected && networkOf(this.#pid) === this.#network;
  }

  connect(port: number): Promise<Socket> {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.end(), IDLE_MS);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new NoListener('no response'));
      }, CONNECTS_WITHIN_MS);
      const finish =
        <T>(call: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          call(value);
        };
      this.#waiting.set(id, { resolve: finish(resolve), reject: finish(reject) });
      this.#child.send({ id, port }, (error) => error && this.#take({ id, error: error.message }, undefined));
    });
  }

  onEnd(call: () => void): void {
    this.#child.once('exit', call);
  }

  end(): void {
    clearTimeout(this.#idle);
    this.#child.kill('SIGKILL');
  }

  #take({ id, error }: Answer, socket: Socket | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting === undefined) socket?.destroy();
    else if (socket === undefined) waiting.reject(new NoListener(error ?? 'no connection'));
    else {
      socket.allowHalfOpen = true;
      waiting.resolve(socket);
    }
  }

  #fail(): void {
    clearTimeout(this.#idle);
    for (const { reject } of this.#waiting.values())
      reject(new EngineFault('unreachable', 'the connection to the container was lost'));
    this.#waiting.clear();
  }
}

interface Answer {
  id: number;
  error?: string;
}

/** Returns a process's network namespace, or null if it can't be read from here. */
function networkOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

function connectDirectly(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port, allowHalfOpen: true, noDelay: true });
    socket.setTimeout(CONNECTS_WITHIN_MS, () => socket.destroy(new Error('no response')));
    socket.once('error', (error) => reject(new NoListener(error.message)));
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

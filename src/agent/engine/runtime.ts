import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Exec, ExecSpec, RunningCommand } from './engine.js';

/*
 * Commands begun by the runtime beneath the engine, with pipes of the agent's own. Engines pass each byte of a command
 * through two programs more, which takes 10 seconds of CPU for a GB instead of 1.
 */

/** Where runtimes keep the containers of a Podman that runs as root. */
const PODMANS: readonly Runtime[] = [
  { program: 'runc', root: '/run/runc' },
  { program: 'crun', root: '/run/crun' },
];
const BEGINS_WITHIN_MS = 30_000;
const QUIET_MS = 20;
/** Of a command whose watcher said nothing: SIGKILL alone ends it. */
const KILLED = 137;
const MAX_CODE_LENGTH = 4;
/** Others might be a secret, and the host's list of processes shows what a runtime is told. */
const SHOWN_VARIABLE = /^(LANG|LC_[A-Z]+)$/;
/**
 * Runs a command once it is told to (until then the engine may still be asked instead) and says how it ended, which nothing
 * outside the container waits for. A signal to the group ends the command alone. Shells have words for how others end.
 */
const WATCH = `
read -r go || exit
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec 4>&2 2>/dev/null
(exec "$@" 2>&4 3>&- 4>&-)
echo $? >&3`;
const WATCHER = ['/bin/sh', '-c', WATCH, 'gpu-watch'];

/** `pid` of its first process. */
type RunningContainer = { engineId: string; pid: number };

interface Runtime {
  program: string;
  /** A folder for each container is in it. */
  root: string;
}

/** Null, with nothing run, where the runtime can't be reached or refuses: the engine then says why. */
export async function execByRuntime(container: RunningContainer, spec: ExecSpec): Promise<Exec | null> {
  const runtime = isSuited(spec) ? runtimeOf(container) : null;
  if (runtime === null) return null;
  try {
    const dir = await mkdtemp(join(tmpdir(), 'gpu-exec-'));
    return await begin(runtime, container, spec, dir).finally(() => rm(dir, { recursive: true, force: true }));
  } catch {
    // There is no room for pipes: the engine needs none.
    return null;
  }
}

async function begin(
  { program, root }: Runtime,
  { engineId }: RunningContainer,
  { argv, env }: ExecSpec,
  dir: string,
): Promise<Exec | null> {
  const pidFile = join(dir, 'pid');
  const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const asked = ['--detach', '--pid-file', pidFile, '--preserve-fds', '1', ...variables];
  // Its warnings would stand among the errors of the command.
  const args = ['--root', root, '--log', '/dev/null', 'exec', ...asked, engineId, ...WATCHER, ...argv];
  const pipes = await openPipes(dir);
  const command = new Command(pipes.ours);
  const hasBegun = await succeeds(program, args, pipes.inside).catch(() => false);
  const pid = hasBegun ? Number(readOr(pidFile)) : 0;
  if (pid > 0) command.begin(pid);
  else command.detach();
  return pid > 0 ? command : null;
}

/** Those in a container that an agent, this or another, began by its runtime and that have not ended. */
export function commandsByRuntime(containerId: string): RunningCommand[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    const args = readOr(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
    const isOurs = args[2] === WATCH && leads(pid) && readOr(`/proc/${pid}/cgroup`).includes(containerId);
    return isOurs ? [{ argv: args.slice(WATCHER.length), pid: Number(pid) }] : [];
  });
}

/** Its process group, as the watcher does and not what it forks. The field comes third after the name, which may hold anything. */
function leads(pid: string): boolean {
  const [, , group] = readOr(`/proc/${pid}/stat`).split(') ').at(-1)!.split(' ');
  return group === pid;
}

function runtimeOf({ engineId, pid }: RunningContainer): Runtime | null {
  const found = [...PODMANS, ...dockers(engineId, pid)].find(({ root }) => existsSync(join(root, engineId)));
  return found ?? null;
}

/** Docker's containerd tells the parent of a container's first process, in the folder that the parent works in. */
function dockers(engineId: string, pid: number): Runtime[] {
  try {
    const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const dir = readlinkSync(`/proc/${parent}/cwd`);
    if (basename(dir) !== engineId) return [];
    const { binary_name, root } = options.parse(JSON.parse(readFileSync(join(dir, 'options.json'), 'utf8')));
    return [{ program: binary_name, root: join(root, basename(dirname(dir))) }];
  } catch {
    return [];
  }
}
const options = z.object({ binary_name: z.string().min(1), root: z.string().min(1) });

/** The watcher needs a shell: where the command is one, it fails in no way in which it would not by the engine. */
function isSuited({ argv, env, terminal }: ExecSpec): boolean {
  return terminal === null && argv[0] === '/bin/sh' && Object.keys(env).every((name) => SHOWN_VARIABLE.test(name));
}

/** Closes the descriptors, which the process has as 0, 1, 2 and 3. Throws where its words are too many for the system. */
async function succeeds(program: string, args: readonly string[], descriptors: readonly number[]): Promise<boolean> {
  try {
    const child = spawn(program, args, { stdio: [...descriptors], timeout: BEGINS_WITHIN_MS, killSignal: 'SIGKILL' });
    const [code] = await once(child, 'exit');
    return code === 0;
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** The ends of four pipes: standard input, output and error, and what the watcher says of the end. */
type Ends<End> = [stdin: End, stdout: End, stderr: End, ending: End];

class Command implements Exec {
  readonly stdin: Socket;
  readonly #streams: Ends<Socket>;
  readonly #over: Promise<void>;
  #pid: number | null = null;
  #said = '';
  #isOver = false;

  constructor(streams: Ends<Socket>) {
    const [stdin, , , ending] = streams;
    this.#streams = streams;
    this.stdin = stdin;
    for (const stream of streams) stream.on('error', () => {});
    ending.setEncoding('latin1').on('data', (text: string) => {
      this.#said += text;
      // A shell that says more is none.
      if (this.#said.length >= MAX_CODE_LENGTH || text.includes('\n')) ending.destroy();
    });
    this.#over = new Promise((resolve) =>
      ending.once('close', () => {
        this.#isOver = true;
        resolve();
      }),
    );
  }

  begin(pid: number): void {
    this.#pid = pid;
    this.stdin.write('\n');
  }

  /** What it left running may keep the pipes open: its own end counts. */
  async output(stdout: Writable, stderr: Writable): Promise<void> {
    const [, out, err] = this.#streams;
    out.pipe(stdout, { end: false });
    err.pipe(stderr, { end: false });
    await this.#over;
    await Promise.all([allRead(out), allRead(err)]);
  }

  /** Only a terminal has a size. */
  async resize(): Promise<void> {}

  async state() {
    const [code] = /^\d{1,3}(?=\n)/.exec(this.#said) ?? [];
    return {
      running: !this.#isOver,
      exitCode: this.#isOver ? Number(code ?? KILLED) : null,
      pid: this.#isOver ? null : this.#pid,
    };
  }

  detach(): void {
    for (const stream of this.#streams) stream.destroy();
  }
}

/** Resolves when nothing more comes for the moment, or ever. */
async function allRead(from: Socket): Promise<void> {
  const closed = new Promise((resolve) => from.once('close', resolve));
  for (let seen = -1; !from.destroyed; ) {
    const isWaitedFor = from.isPaused() || from.readableLength > 0;
    if (!isWaitedFor && from.bytesRead === seen) return void from.destroy();
    seen = from.bytesRead;
    await Promise.race([sleep(QUIET_MS), closed]);
    // A busy process has not looked at the pipe before this.
    await setImmediate();
  }
}

/** Pipes, since a command may open its streams anew by /dev/stderr, which it can't do with sockets. */
async function openPipes(dir: string): Promise<{ inside: Ends<number>; ours: Ends<Socket> }> {
  const paths = ['in', 'out', 'err', 'end'].map((name) => join(dir, name));
  // Whatever user the command runs as may open them anew.
  await promisify(execFile)('mkfifo', ['-m', '666', ...paths]);
  const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants;
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    const ends = paths.map((path, index) => {
      const isInput = index === 0;
      // While it holds both ends, neither of the others waits for its counterpart.
      const both = openSync(path, O_RDWR | O_NONBLOCK);
      try {
        const inside = open(path, isInput ? O_RDONLY : O_WRONLY);
        return { inside, ours: open(path, (isInput ? O_WRONLY : O_RDONLY) | O_NONBLOCK) };
      } finally {
        closeSync(both);
      }
    });
    const ours = ends.map(({ ours: fd }, index) => new Socket({ fd, readable: index > 0, writable: index === 0 }));
    return { inside: ends.map(({ inside }) => inside) as Ends<number>, ours: ours as Ends<Socket> };
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { quoted } from '../../std/quoted.js';
import { readOr, startOf } from '../process-start.js';
import { isRoot } from './container-user.js';
import type { Exec, ExecSpec } from './engine.js';

/**
 * Runs commands directly through the runtime beneath the engine, over the agent's own pipes. Engines pass each byte of
 * a command's input and output through two more programs, which takes 10 seconds of CPU time per GB instead of 1.
 */

/** Folders where runtimes keep the containers if Podman runs as root. */
const PODMANS: readonly Runtime[] = [
  { program: 'runc', root: '/run/runc' },
  { program: 'crun', root: '/run/crun' },
];
/**
 * Maximum commands per instance that can be starting concurrently. Any others go through the engine. Node blocks while
 * it starts a program, and a renter can prevent a runtime from finishing.
 */
const MAX_BEGINNING_PER_INSTANCE = 2;
const MAX_BEGINNING = 4;
const BEGINS_WITHIN_MS = 10_000;
/** Time during which processes left running by a command may still write output, as with Docker. */
const WRITES_WITHIN_MS = 2_000;
const CHECK_EVERY_MS = 20;
/** Largest pipe size that Linux allows a renter. */
const MAX_PIPE_BYTES = 1_048_576;
const READ_CHUNK_BYTES = 65_536;
/** Number of pipes: a command's standard input, output and error, and its watcher's messages. */
const PIPES = 4;
/**
 * Creates processes that have pipes as their output, print their ids and wait for the end of input. They also hold the
 * pipe as descriptor 5, because a shell temporarily replaces its standard output while it prints elsewhere.
 */
const MAKE_PIPES = `
exec 4<&0
hold() { exec 5>&1; read -r pid rest </proc/self/stat && echo "$pid" >&3; read -r end <&4; }
hold | hold | hold | hold | read -r end <&4`;
/** Linux's O_PATH flag, for which Node has no constant: the descriptor refers to the file without opening it. */
const O_PATH = 0o10000000;
/**
 * Variables that may appear in a runtime's arguments, which are visible in the host's process list. Other variables
 * might be secret.
 */
const SHOWN_VARIABLE = /^(LANG|LC_[A-Z]+)$/;
/**
 * Variable that passes the command to the watcher. If the command were in the watcher's arguments, `pkill -f` would
 * mistake the watcher for the command.
 */
const COMMAND_VARIABLE = 'GPU_WATCH_COMMAND';
/**
 * Runs a command and reports its outcome, so that nothing outside the container has to wait for it. It prints `r` when
 * it is ready, `b` when the command begins, and then the exit code. It runs nothing until it is triggered, so the
 * engine can still be used instead. A signal to the group ends only the command. Messages that shells print about how
 * other processes end are discarded. It uses the engines' file mode mask instead of the agent's.
 */
const WATCH = `
umask 022
exec 4>&2 2>/dev/null
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
eval "set -- $${COMMAND_VARIABLE}"
unset ${COMMAND_VARIABLE} SHLVL
echo r >&3
read -r go || exit
(echo b >&3; exec "$@" 2>&4 3>&- 4>&-)
echo $? >&3`;
const WATCHER = ['/bin/sh', '-c', WATCH, 'gpu-watch'];
const WATCHER_REPORT = /^r\n(b\n((\d{1,3})\n)?)?$/;
const MAX_REPORT = 'r\nb\n255\n'.length;
/** Exit code for a command whose watcher reported none. Only SIGKILL ends a watcher early. */
const KILLED = 137;

/** A running container as described by the engine. */
interface RunningContainer {
  engineId: string;
  /** Id of the container's first process. */
  pid: number;
  /** Capabilities that the container's configuration allows, without the prefix CAP_. */
  capabilities: readonly string[];
}

interface Runtime {
  program: string;
  /** Folder that holds a folder for each container. */
  root: string;
}

/**
 * The commands of one agent process. `dir` has a folder for each command, so that the next agent process knows which
 * commands have outlived this one.
 */
export class RuntimeCommands {
  readonly #dir: string;
  /** The instance of each command that is starting. */
  readonly #beginning: string[] = [];

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Runs `spec`, which must be suitable (see `isSuited`), in the container returned by `find`. Returns null without
   * running anything if the runtime can't be reached, refuses, or is busy. The caller then uses the engine instead.
   */
  async exec(instanceId: string, find: () => Promise<RunningContainer | null>, spec: ExecSpec): Promise<Exec | null> {
    // Docker would run it as root without root's capabilities, so root's commands wait for their turn.
    const mayWaitMs = isRoot(spec.user) ? BEGINS_WITHIN_MS : 0;
    for (let waited = 0; waited < mayWaitMs && this.#isBusy(instanceId); waited += CHECK_EVERY_MS)
      await sleep(CHECK_EVERY_MS);
    if (this.#isBusy(instanceId)) return null;
    this.#beginning.push(instanceId);
    try {
      const container = await find();
      return container === null ? null : await this.#exec(container, spec);
    } finally {
      this.#beginning.splice(this.#beginning.indexOf(instanceId), 1);
    }
  }

  #isBusy(instanceId: string): boolean {
    const own = this.#beginning.filter((id) => id === instanceId).length;
    return own >= MAX_BEGINNING_PER_INSTANCE || this.#beginning.length >= MAX_BEGINNING;
  }

  async #exec(container: RunningContainer, spec: ExecSpec): Promise<Exec | null> {
    const runtime = runtimeOf(container);
    if (runtime === null) return null;
    try {
      mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
      const dir = await mkdtemp(join(this.#dir, 'command-'));
      const forget = () => rm(dir, { recursive: true, force: true }).catch(() => {});
      const command = await begin(runtime, container, spec, dir).catch(() => null);
      if (command === null) await forget();
      else {
        const left = command.over.then(() => sleep(WRITES_WITHIN_MS, null, { ref: false }));
        void left.then(() => command.empty()).then(forget);
      }
      return command;
    } catch {
      // The pipes couldn't be created. The engine doesn't need them.
      return null;
    }
  }

  /** Returns the process groups of running commands that a previous agent started, and forgets them. */
  async abandoned(): Promise<number[]> {
    const names = existsSync(this.#dir) ? readdirSync(this.#dir) : [];
    const processes = names.map((name) => readOr(join(this.#dir, name, PROCESS)).split(' '));
    await rm(this.#dir, { recursive: true, force: true });
    // Checked last, right before the caller hangs them up. After a host restart, a different process may have the same
    // id and start time.
    const left = processes.filter(
      ([pid, start, engineId]) =>
        pid !== undefined && engineId !== undefined && startOf(pid) === start && isOf(engineId, pid),
    );
    return left.map(([pid]) => Number(pid));
  }
}

/** File in a command's folder, with the command's process id and start time, and its container. */
const PROCESS = 'process';

async function begin(
  { program, root }: Runtime,
  { engineId, capabilities }: RunningContainer,
  { argv, env, user }: ExecSpec,
  dir: string,
): Promise<Command | null> {
  const pidFile = join(dir, 'pid');
  const variables = Object.entries({ ...env, [COMMAND_VARIABLE]: argv.map(quoted).join(' ') });
  const envFlags = variables.flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const flags = ['--detach', '--pid-file', pidFile, '--preserve-fds', '1', ...envFlags];
  // The runtime's warnings would appear in the command's standard error.
  const userFlags = user === null ? [] : rootOptions(capabilities);
  const args = ['--root', root, '--log', '/dev/null', 'exec', ...flags, ...userFlags, engineId, ...WATCHER];
  const pipes = await openPipes();
  const command = new Command(pipes.ours, pipes.input);
  try {
    const hasBegun = await succeeds(program, args, pipes.inside);
    const pid = readOr(pidFile);
    const start = hasBegun && /^\d+$/.test(pid) ? startOf(pid) : undefined;
    // The process may have ended, and its id may have been reused.
    const isInside = start !== undefined && isOf(engineId, pid);
    if (isInside && (await Promise.race([command.ready, sleep(BEGINS_WITHIN_MS, false, { ref: false })]))) {
      writeFileSync(join(dir, PROCESS), `${pid} ${start} ${engineId}`);
      command.go(pid, start);
      return command;
    }
  } catch {
    // The engine reports the reason.
  }
  command.detach();
  command.empty();
  return null;
}

function runtimeOf({ engineId, pid }: RunningContainer): Runtime | null {
  const found = [...PODMANS, ...dockers(engineId, pid)].find(({ root }) => existsSync(join(root, engineId)));
  return found ?? null;
}

/** Whether the process is in the container, according to its control group, whose name a renter can't choose. */
function isOf(engineId: string, pid: string): boolean {
  return readOr(`/proc/${pid}/cgroup`).includes(engineId);
}

/**
 * Finds Docker's runtime folder. The parent of a container's first process is started by Docker's containerd, and
 * reveals the folder through its working directory. The process id may have been reused, and its parent may then be a
 * renter's process that can claim anything. Therefore, a parent is trusted only if it has the agent's view of mounts
 * and processes, and is the same before and after the check.
 */
function dockers(engineId: string, pid: number): Runtime[] {
  try {
    const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
    const start = startOf(parent);
    const dir = readlinkSync(`/proc/${parent}/cwd`);
    const isHosts = ['mnt', 'pid'].every(
      (kind) => readlinkSync(`/proc/${parent}/ns/${kind}`) === readlinkSync(`/proc/self/ns/${kind}`),
    );
    if (basename(dir) !== engineId || !isHosts || start === undefined || startOf(parent) !== start) return [];
    const { binary_name, root } = options.parse(JSON.parse(readFileSync(join(dir, 'options.json'), 'utf8')));
    return [{ program: binary_name, root: join(root, basename(dirname(dir))) }];
  } catch {
    return [];
  }
}
const options = z.object({ binary_name: z.string().min(1), root: z.string().min(1) });

/**
 * Whether the runtime may start the command. The watcher needs a shell. If the command is itself a shell, running it
 * this way can fail only in ways that it would also fail through the engine.
 */
export function isSuited({ argv, env, terminal, user }: ExecSpec): boolean {
  const isSimple = terminal === null && argv[0] === '/bin/sh';
  // Runtimes accept only ids. A user name, or the groups of an id, would have to be read from the renter's files.
  return isSimple && (user === null || isRoot(user)) && Object.keys(env).every((name) => SHOWN_VARIABLE.test(name));
}

/**
 * Returns options that run a command as root in a container whose user is not root, with exactly the capabilities that
 * root would have in a container that runs as root.
 */
function rootOptions(capabilities: readonly string[]): string[] {
  const caps = capabilities.flatMap((name) => ['--cap', `CAP_${name}`]);
  return ['--user', '0:0', '--no-new-privs', ...caps];
}

/**
 * Runs a program with the descriptors as its 0, 1, 2 and 3, and then closes them. Throws if the arguments are too long
 * for the system.
 */
async function succeeds(program: string, args: readonly string[], descriptors: readonly number[]): Promise<boolean> {
  try {
    const child = spawn(program, args, { stdio: [...descriptors], timeout: BEGINS_WITHIN_MS, killSignal: 'SIGKILL' });
    const [code] = await once(child, 'exit');
    return code === 0;
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** The ends of four pipes: standard input, output and error, and the watcher's messages. */
type Ends<End> = [stdin: End, stdout: End, stderr: End, ending: End];

class Command implements Exec {
  readonly stdin: Socket;
  /** Resolves to true once the watcher is ready, or to false if it ended first. */
  readonly ready: Promise<boolean>;
  readonly over: Promise<void>;
  readonly #streams: Ends<Socket>;
  #process: { pid: string; start: string } | null = null;
  #report = '';
  #isOver = false;

  constructor(
    streams: Ends<Socket>,
    /** Refers to the input pipe without being one of its ends. */
    private readonly input: number,
  ) {
    const [stdin, , , ending] = streams;
    this.#streams = streams;
    this.stdin = stdin;
    for (const stream of streams) stream.on('error', () => {});
    this.over = new Promise((resolve) => ending.once('close', resolve)).then(() => {
      this.#isOver = true;
    });
    this.ready = new Promise((resolve) => {
      ending.setEncoding('latin1').on('data', (text: string) => {
        this.#report += text;
        if (this.#report.startsWith('r\n')) resolve(true);
        // A shell that prints more than this is not the watcher.
        if (this.#report.length >= MAX_REPORT || WATCHER_REPORT.exec(this.#report)?.[3] !== undefined) ending.destroy();
      });
      void this.over.then(() => resolve(false));
    });
  }

  go(pid: string, start: string): void {
    this.#process = { pid, start };
    this.stdin.write('\n');
  }

  async output(stdout: Writable, stderr: Writable): Promise<void> {
    const [, out, err] = this.#streams;
    out.pipe(stdout, { end: false });
    err.pipe(stderr, { end: false });
    await this.over;
    await Promise.all([allRead(out), allRead(err)]);
  }

  /** Only a terminal has a size. */
  async resize(): Promise<void> {}

  /** Reports no process until the command has started, because a signal would otherwise go to the watcher. */
  async state() {
    const [, begun, , code] = WATCHER_REPORT.exec(this.#report) ?? [];
    const { pid, start } = this.#process ?? {};
    const isThere = !this.#isOver && begun !== undefined && pid !== undefined && startOf(pid) === start;
    return {
      running: !this.#isOver,
      exitCode: this.#isOver ? Number(code ?? KILLED) : null,
      pid: isThere ? Number(pid) : null,
    };
  }

  detach(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  /**
   * Discards unread input, which would otherwise occupy the agent's memory while one of the renter's processes holds
   * the pipe.
   */
  empty(): void {
    this.stdin.destroy();
    try {
      const descriptor = openSync(`/proc/self/fd/${this.input}`, constants.O_RDONLY | constants.O_NONBLOCK);
      const rest = Buffer.allocUnsafe(READ_CHUNK_BYTES);
      try {
        for (let left = MAX_PIPE_BYTES; left > 0; ) {
          const length = readSync(descriptor, rest);
          if (length === 0) return;
          left -= length;
        }
      } finally {
        closeSync(descriptor);
      }
    } catch {
      // The pipe is empty, but a process still holds it open for writing.
    } finally {
      closeSync(this.input);
    }
  }
}

/**
 * Resolves when no process can write any more, or a while after the command itself has ended. Waits for slow readers.
 */
async function allRead(from: Socket): Promise<void> {
  const closed = new Promise((resolve) => from.once('close', resolve));
  const atEnd = from.bytesRead;
  for (let waited = 0; !from.destroyed; waited += CHECK_EVERY_MS) {
    const isWaitedFor = from.isPaused() || from.readableLength > 0;
    const isLongAgo = waited >= WRITES_WITHIN_MS || from.bytesRead - atEnd > MAX_PIPE_BYTES;
    if (isLongAgo && !isWaitedFor) return void from.destroy();
    await Promise.race([sleep(CHECK_EVERY_MS), closed]);
  }
}

/**
 * Opens pipes, since a command may reopen its streams through /dev/stderr, which sockets don't allow. The pipes have no
 * names, because a name would reveal the agent's folder to the command. Node can't create unnamed pipes, so a
 * short-lived shell creates them.
 */
async function openPipes(): Promise<{ inside: Ends<number>; ours: Ends<Socket>; input: number }> {
  const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants;
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  };
  const maker = spawn('/bin/sh', ['-c', MAKE_PIPES], { stdio: ['pipe', 'ignore', 'ignore', 'pipe'] });
  const ended = once(maker, 'close');
  const late = setTimeout(() => maker.kill('SIGKILL'), BEGINS_WITHIN_MS);
  try {
    const paths = (await holdersOf(maker.stdio[3] as Readable)).map((pid) => `/proc/${pid}/fd/5`);
    const input = open(paths[0]!, O_PATH);
    const ends = paths.map((path, index) => {
      const isInput = index === 0;
      // While this process holds both ends, opening either end doesn't wait for the other.
      const both = openSync(path, O_RDWR | O_NONBLOCK);
      try {
        // Allows the command to reopen it, regardless of its user.
        fchmodSync(both, 0o666);
        const inside = open(path, isInput ? O_RDONLY : O_WRONLY);
        return { inside, ours: open(path, (isInput ? O_WRONLY : O_RDONLY) | O_NONBLOCK) };
      } finally {
        closeSync(both);
      }
    });
    const ours = ends.map(({ ours: fd }, index) => new Socket({ fd, readable: index > 0, writable: index === 0 }));
    return { inside: ends.map(({ inside }) => inside) as Ends<number>, ours: ours as Ends<Socket>, input };
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  } finally {
    maker.stdin!.destroy();
    await ended;
    clearTimeout(late);
  }
}

/** Returns the ids of the processes that hold the pipes. */
async function holdersOf(printed: Readable): Promise<string[]> {
  let text = '';
  for await (const chunk of printed.setEncoding('latin1')) {
    text += chunk;
    const pids = text.split('\n').slice(0, -1);
    if (pids.length === PIPES) return pids;
  }
  throw new Error('pipes could not be created');
}

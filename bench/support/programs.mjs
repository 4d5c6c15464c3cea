// A run's processes and their cores. The measured process gets core 0, and everything that serves it gets core 1.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT } from './settings.mjs';

const MEASURED_CORE = '0';
const SERVING_CORE = '1';
const ALL_CORES = `0-${availableParallelism() - 1}`;
const STARTS_WITHIN_MS = 120_000;
const ENDS_WITHIN_MS = 12_000;
const TICKS_PER_SECOND = 100;

/** Thrown if a requirement of a case isn't met. */
export class NotSupported extends Error {}

const children = new Set();

/**
 * Pins this process, and all processes that it starts afterwards, to the serving core. False if that isn't possible.
 */
export const isPinned = pin();

function pin() {
  try {
    execFileSync('taskset', ['-c', MEASURED_CORE, 'true'], { stdio: 'ignore' });
    execFileSync('taskset', ['-a', '-c', '-p', SERVING_CORE, String(process.pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Lets this process, and all that it starts afterwards, use all cores. */
export function useAllCores() {
  if (isPinned) execFileSync('taskset', ['-a', '-c', '-p', ALL_CORES, String(process.pid)], { stdio: 'ignore' });
}

/**
 * Starts the built gateway on a database and waits until it responds. Its log goes to a file, as in production. `env`
 * adds settings. The gateway may use all cores unless it is pinned.
 */
export async function startGateway(databaseUrl, env = {}, { isPinned: hasCore = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-cwd-'));
  const { PATH = '/usr/bin:/bin' } = process.env;
  const log = openSync(join(folder, 'log'), 'a');
  const child = start(hasCore ? MEASURED_CORE : ALL_CORES, [process.execPath, join(PROJECT, 'dist/gateway.mjs')], {
    // Uses a separate folder, because the checkout may contain an .env file.
    cwd: folder,
    env: { PATH, PORT: '0', DATABASE_URL: databaseUrl, RATE_LIMIT_PER_MINUTE: '1000000', SSH_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', log],
  });
  closeSync(log);
  child.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  let said = '';
  const port = await within(
    STARTS_WITHIN_MS,
    child,
    new Promise((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text;
        const address = /REST +http:\S+:(\d+)\/v1/.exec(said);
        if (address !== null) resolve(Number(address[1]));
      });
    }),
  );
  return { pid: child.pid, port, end: () => end(child) };
}

/**
 * Starts a peer from `bench/peers` with `config`. Once it is ready, resolves to its first message, which usually
 * contains the `port`.
 */
export async function startPeer(name, config, { isPinned: hasCore = true } = {}) {
  const path = join(PROJECT, 'bench/peers', `${name}.mjs`);
  const child = start(hasCore ? MEASURED_CORE : ALL_CORES, [process.execPath, path], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ready = once(child);
  child.send(config);
  return {
    ...(await within(STARTS_WITHIN_MS, child, ready)),
    pid: child.pid,
    /** Sends the peer a message and resolves to its response. */
    ask: (message) => {
      const answer = once(child);
      child.send(message);
      return within(STARTS_WITHIN_MS, child, answer);
    },
    end: () => end(child),
  };
}

/**
 * Runs an operator command to completion with these settings, of which one names the database. Resolves to its exit
 * code and output.
 */
export function runAdmin(args, given) {
  if (given.DATABASE_URL === undefined && given.DATA_DIR === undefined) throw new Error('no database given');
  return new Promise((resolve, reject) => {
    const { PATH = '/usr/bin:/bin' } = process.env;
    const env = { PATH, ...given };
    const child = spawn(process.execPath, [join(PROJECT, 'dist/admin.mjs'), ...args], { cwd: tmpdir(), env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, said }));
  });
}

export async function endAll() {
  await Promise.all([...children].map(end));
}

/** Returns the CPU seconds that all threads of a process have used so far. */
export function cpuSecondsOf(pid) {
  // The command, in parentheses, may contain spaces. User and system time are the 12th and 13th fields after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Returns the CPU seconds of a process and its children, including those that have exited. */
export function cpuSecondsOfTree(root) {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ');
      if (Number(name) !== root && Number(fields[1]) !== root) continue;
      for (const field of Number(name) === root ? [11, 12, 13, 14] : [11, 12]) ticks += Number(fields[field]);
    } catch {
      // The process has exited.
    }
  }
  return ticks / TICKS_PER_SECOND;
}

/** Returns a process's resident memory. */
export function residentMegabytesOf(pid) {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1_024;
}

/** Starts any program on all cores. It is ended with the run, if not earlier. */
export function startProgram(file, args, options = { stdio: 'ignore' }) {
  return start(ALL_CORES, [file, ...args], options);
}

function start(cores, command, options) {
  const [file, ...rest] = isPinned ? ['taskset', '-c', cores, ...command] : command;
  const child = spawn(file, rest, options);
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

function once(child) {
  return new Promise((resolve) => child.once('message', resolve));
}

async function within(limitMs, child, promise) {
  let timer;
  let ended;
  let failedToStart;
  const failed = new Promise((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`process ${child.pid} did not respond within ${limitMs / 1_000} s`)),
      limitMs,
    );
    ended = (code) => reject(new Error(`process ${child.pid} ended with ${code}`));
    failedToStart = reject;
    child.once('exit', ended);
    child.once('error', failedToStart);
  });
  try {
    return await Promise.race([promise, failed]);
  } finally {
    clearTimeout(timer);
    child.off('exit', ended);
    child.off('error', failedToStart);
  }
}

export function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  return new Promise((resolve) => {
    const late = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
    child.once('exit', () => {
      clearTimeout(late);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

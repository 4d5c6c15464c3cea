import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PACKAGE_ROOT } from '../../../src/package-root.js';

/** Programs of real chains, each on a folder and ports of its own. They end with the test. */

const READY_WITHIN_MS = 60_000;
/** `npm install --no-save @foundry-rs/anvil-linux-amd64`, as .ci/run does. */
const ANVIL = join(PACKAGE_ROOT, 'node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil');

/** The path of a program, or null with a line for people who wonder why tests are skipped. */
export function programOrNull(name: string): string | null {
  if (name === 'anvil' && existsSync(ANVIL)) return ANVIL;
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  if (status === 0) return stdout.trim();
  process.stderr.write(`skipped: ${name} is not installed (.ci/run names the packages)\n`);
  return null;
}

export interface Running {
  folder: string;
  end(): Promise<void>;
}

export function start(file: string, argsOf: (folder: string) => string[]): Running {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-chain-'));
  const child: ChildProcess = spawn(file, argsOf(folder), { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return {
    folder,
    end: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}

export async function untilReady(look: () => Promise<unknown>): Promise<void> {
  const endsAt = Date.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      await look();
      return;
    } catch (error) {
      if (Date.now() > endsAt) throw error;
      await sleep(100);
    }
  }
}

/** JSON-RPC over HTTP. */
export async function rpc<T>(url: string, method: string, params: unknown, authorization?: string): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } | null };
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

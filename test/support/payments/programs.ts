import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { find, type Tool } from '../tools.js';

/** Programs of real chains, each with its own folder and ports, which end with the test. */

const READY_WITHIN_MS = 60_000;
export interface Running {
  folder: string;
  end(): Promise<void>;
}

export function start(tool: Tool, argsOf: (folder: string) => string[]): Running {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-chain-'));
  const child: ChildProcess = spawn(find(tool)!, argsOf(folder), { stdio: 'ignore' });
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

/** Calls JSON-RPC over HTTP. */
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

// Runs the built gateway on a new data folder, for scripts that use it as a newcomer would.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../dist/gateway.mjs', import.meta.url));
const STARTS_WITHIN_MS = 60_000;
const ENDS_WITHIN_MS = 15_000;

/**
 * Starts a temporary gateway and calls `work` with its address and the demo account's key. Fails unless the gateway
 * shuts down cleanly. `more` is added to its environment.
 */
export async function withFreshGateway(work, more = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'fresh-gateway-'));
  try {
    return await withGateway(join(folder, 'data'), work, more);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/**
 * Does the same as `withFreshGateway` with a data folder that the caller keeps. The key is only known on the folder's
 * first start.
 */
export async function withGateway(dataDir, work, more = {}) {
  // Keeps the checkout's .env file out of the working folder and the environment.
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  const { PATH } = process.env;
  const env = { PATH, PORT: '0', SSH_PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...more };
  const child = spawn(process.execPath, [MAIN], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    const result = await work(await started(child));
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
    const code = await ended;
    clearTimeout(late);
    if (code !== 0) throw new Error(`the gateway exited with ${code ?? 'a signal'}`);
    return result;
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function started(child) {
  return new Promise((resolve, reject) => {
    let said = '';
    const late = setTimeout(
      () => reject(new Error(`the gateway did not start within ${STARTS_WITHIN_MS} ms: ${said}`)),
      STARTS_WITHIN_MS,
    );
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`the gateway exited with ${code} during its start: ${said}`)));
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      const address = /REST +(http:\S+)\/v1/.exec(said)?.[1];
      if (address === undefined || !/GraphiQL.*\n\n$/s.test(said)) return;
      const key = /gpu_live_[0-9a-f]{40}/.exec(said)?.[0];
      clearTimeout(late);
      resolve({ address, key });
    });
  });
}

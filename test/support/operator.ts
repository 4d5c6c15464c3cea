import { pino } from 'pino';
import { runCommand } from '../../src/admin/program.js';
import { runOn } from '../../src/admin/run.js';
import { readConfig } from '../../src/compose/config.js';
import { inProcess } from './in-process.js';
import type { Env, Exit } from './process.js';

/** Operator commands that run in the test's own process, which takes a tenth of the time of a separate one. */

/** Runs a command like `admin` in process.ts. */
export function admin(args: string[], env: Env): Promise<Exit> {
  return inProcess(async () => {
    const { env: before } = process;
    process.env = { PATH: before.PATH, ...env };
    try {
      const log = pino({ level: 'warn' }, { write: (line) => process.stderr.write(line) });
      return await runCommand(args, async (command) => runOn(readConfig(env), log, command));
    } finally {
      process.env = before;
    }
  });
}

/** Runs a command that must succeed and returns what `--json` prints. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function adminJson(args: string[], env: Env): Promise<any> {
  const { code, stdout, stderr } = await admin([...args, '--json'], env);
  if (code !== 0) throw new Error(`admin ${args.join(' ')}: exit code ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Creates an account with credit and a key for it. */
export async function openAccount(env: Env, creditUsd = '100'): Promise<{ accountId: string; key: string }> {
  const { id } = await adminJson(['account', 'create', '--name', 'Renter', '--credit', creditUsd], env);
  const { api_key } = await adminJson(['key', 'create', '--account', id], env);
  return { accountId: id, key: api_key };
}

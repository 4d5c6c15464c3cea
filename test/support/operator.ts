import { pino } from 'pino';
import { runCommand } from '../../src/admin/program.js';
import { runOn } from '../../src/admin/run.js';
import { readConfig } from '../../src/config.js';
import type { Env, Exit } from './process.js';

/** Operator commands within the test's own process: a tenth of the time, for tests that are not about the process. */

let last: Promise<unknown> = Promise.resolve();

/** As `admin` of process.ts. One at a time: what this process writes meanwhile is the command's. */
export function admin(args: string[], env: Env): Promise<Exit> {
  const exit = last.then(() => runHere(args, env));
  last = exit.catch(() => {});
  return exit;
}

/** As `admin`, for commands that must succeed: what `--json` prints. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function adminJson(args: string[], env: Env): Promise<any> {
  const { code, stdout, stderr } = await admin([...args, '--json'], env);
  if (code !== 0) throw new Error(`admin ${args.join(' ')}: exit code ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

async function runHere(args: string[], env: Env): Promise<Exit> {
  const { exitCode } = process;
  process.exitCode = undefined;
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)];
  try {
    const log = pino({ level: 'warn' }, { write: (line) => process.stderr.write(line) });
    const code = await runCommand(args, async (command) => runOn(readConfig(env), log, command));
    return { code: code || Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    stdout.end();
    stderr.end();
    process.exitCode = exitCode;
  }
}

function captured(stream: NodeJS.WriteStream): { text(): string; end(): void } {
  const { write } = stream;
  let text = '';
  stream.write = (chunk: string | Uint8Array) => {
    text += String(chunk);
    return true;
  };
  return {
    text: () => text,
    end: () => {
      stream.write = write;
    },
  };
}

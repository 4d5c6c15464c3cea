import type { Exit } from './process.js';

let last: Promise<unknown> = Promise.resolve();

/**
 * Returns the output and exit code of a command that runs within the test's own process. Commands must run one at a
 * time, because all output of this process during the run counts as the command's.
 */
export function inProcess(command: () => Promise<number>): Promise<Exit> {
  const exit = last.then(() => runHere(command));
  last = exit.catch(() => {});
  return exit;
}

async function runHere(command: () => Promise<number>): Promise<Exit> {
  const { exitCode } = process;
  process.exitCode = undefined;
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)];
  try {
    const code = await command();
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
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += String(chunk);
    const written = rest.at(-1);
    if (typeof written === 'function') written();
    return true;
  };
  return {
    text: () => text,
    end: () => {
      stream.write = write;
    },
  };
}

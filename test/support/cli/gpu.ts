import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { type Env, type Exit, type Program, run } from '../process.js';

export const GPU = join(PACKAGE_ROOT, 'dist/src/cli/main.js');
const ESCAPE = '\u001b';
/** Matches the spinner's output, from hiding the cursor to showing it again and clearing the line. */
export const SPINNER = new RegExp(`${ESCAPE}\\[\\?25l.*?${ESCAPE}\\[\\?25h(${ESCAPE}\\[1G|${ESCAPE}\\[0?K)*`, 'gs');
const STYLES: Record<string, string> = {
  1: '<bold>',
  2: '<dim>',
  22: '</>',
  31: '<red>',
  32: '<green>',
  33: '<yellow>',
  36: '<cyan>',
  39: '</>',
};

/** Runs the built command as a script does, without a terminal. */
export function gpu(args: string[], env: Env, input = ''): Promise<Exit> {
  const program = run([GPU, ...args], env);
  program.stdin.end(input);
  return program.ended;
}

/** Runs the built command in its own terminal as a person does. `stdin` takes what is typed. */
export function gpuInTerminal(args: string[], env: Env, { columns = 120, rows = 30 } = {}): Program {
  const command = `exec script -qefc "stty cols ${columns} rows ${rows}; exec $*" /dev/null`;
  const terminal = { TERM: 'xterm-256color', TZ: 'UTC', ...env };
  return run([GPU, ...args], terminal, { prefix: ['sh', '-c', command, 'sh'] });
}

/** Returns a terminal's output without the spinner, with colours as tags, and with variable parts replaced. */
export function readable(output: string): string {
  return (
    output
      .replace(SPINNER, '')
      .replaceAll('\r\n', '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
      .replace(/\u001b\[(\d+)m/g, (_, code: string) => STYLES[code] ?? `<${code}>`)
      .replaceAll(ESCAPE, '<esc>')
      .replace(/, \d+ \w+ ago/g, ', ··· ago')
      .replace(/i-[0-9a-f]{8}/g, 'i-········')
      .replace(/(gpu_live_…)[0-9a-f]{4}/g, '$1····')
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://gateway')
      .replace(/\/\S*\/gateway-process-\w+/g, '/home')
  );
}

import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { type GpuClient, GpuConnectionError, type GpuError, GpuRefusal } from '../client/index.js';
import type { Session } from './session.js';
import { paint, printLines, printText, remark, sizeOf } from './terminal.js';

/** Defines how a command prints a response. */
export interface View<Body> {
  lines(body: Body): string[];
  ids(body: Body): string[];
  /** Returns a hint to print if the output is a terminal. */
  remark?(body: Body): string | null;
}

/** Output options of commands that print a response. */
export interface Output {
  json?: boolean;
  quiet?: boolean;
  /** Refresh interval in seconds, or true for the default. */
  watch?: number | true;
  /** The key that quits, as shown to the user. */
  quitKey?: string;
}

const DEFAULT_SECONDS = 2;
const MAX_SECONDS = 3_600;
const CLEAR_SCREEN = '\u001b[2J';
const TO_TOP = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
/** Number of terminal lines not available to the frame: the line above it and the cursor's line. */
const LINES_OF_FRAME = 2;

export function watchSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,4}$/.test(text) && seconds >= 1 && seconds <= MAX_SECONDS) return seconds;
  throw new InvalidArgumentError(`must be a whole number of seconds from 1 to ${MAX_SECONDS}.`);
}

/** Sends the request and prints the response in the chosen format. With --watch, does so repeatedly. */
export async function show<Body>(
  session: Session,
  options: Output,
  call: (client: GpuClient) => Promise<Body>,
  view: View<Body>,
): Promise<void> {
  if (options.watch !== undefined) return watch(session, options, call, view);
  const { body, text } = await session.request(call);
  if (options.json) return printText(text);
  printLines(options.quiet ? view.ids(body) : view.lines(body));
  const hint = view.remark?.(body) ?? null;
  if (hint !== null && !options.quiet) remark(hint);
}

/**
 * Prints each response until interrupted. On a terminal, it redraws in place. Elsewhere, it prints each response below
 * the previous one.
 */
async function watch<Body>(
  session: Session,
  { json = false, quiet = false, watch: every, quitKey = 'Ctrl-C' }: Output,
  call: (client: GpuClient) => Promise<Body>,
  view: View<Body>,
): Promise<void> {
  const seconds = typeof every === 'number' ? every : DEFAULT_SECONDS;
  const { stdout } = process;
  const paints = stdout.isTTY && !json;
  let lines: string[] = [];
  let note = '';
  for (let first = true; ; first = false) {
    try {
      const { body, text } = await session.request(call, true);
      note = '';
      lines = json ? [text] : quiet ? view.ids(body) : view.lines(body);
      if (lines.length === 0 && paints) lines = [view.remark?.(body) ?? 'Nothing to show.'];
      if (!paints) stdout.write(`${lines.join('\n')}\n${json ? '' : '\n'}`);
    } catch (error) {
      if (first || !isTemporary(error)) throw error;
      note = error.code;
      if (!paints) process.stderr.write(`gpu: ${error.message}\n`);
    }
    if (paints) stdout.write(`${first ? CLEAR_SCREEN : ''}${frame(lines, { seconds, quitKey, note })}`);
    await sleep(seconds * 1_000);
  }
}

/** Returns whether the next attempt may succeed. */
function isTemporary(error: unknown): error is GpuError {
  return (
    error instanceof GpuConnectionError ||
    (error instanceof GpuRefusal && (error.code === 'rate_limited' || error.code === 'unavailable'))
  );
}

function frame(
  lines: readonly string[],
  { seconds, quitKey, note }: { seconds: number; quitKey: string; note: string },
): string {
  const { stdout } = process;
  const room = sizeOf(stdout).rows - LINES_OF_FRAME;
  const more = lines.length - room;
  const shown = more > 0 ? [...lines.slice(0, room - 1), paint(stdout, 'dim', `… ${more + 1} more`)] : lines;
  const head = paint(stdout, 'dim', `Every ${seconds} s, ${new Date().toLocaleTimeString('en-GB')}; ${quitKey} quits`);
  const warning = note === '' ? '' : `  ${paint(stdout, 'yellow', `${note}; showing the last known state`)}`;
  return [`${TO_TOP}${head}${warning}`, ...shown, CLEAR_BELOW].join(`${CLEAR_LINE}\n`);
}

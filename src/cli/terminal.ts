import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import spinner from 'yocto-spinner';
import { visibleJson } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';

export type Style = Parameters<typeof styleText>[0];

/** A spinner is shown only for calls that take longer than this. */
const SPINNER_AFTER_MS = 200;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** Colours text for a terminal that supports it, unless NO_COLOR is set. */
export function paint(stream: NodeJS.WriteStream, style: Style, text: string): string {
  const coloured = stream.isTTY && stream.hasColors();
  return coloured ? styleText(style, text, { validateStream: false }) : text;
}

/** Returns a terminal's size, or a default for a pseudo-terminal that reports 0. */
export function sizeOf({ columns, rows }: NodeJS.WriteStream): { columns: number; rows: number } {
  return { columns: columns || DEFAULT_COLUMNS, rows: rows || DEFAULT_ROWS };
}

/** Whether both streams are terminals, so that the user can see and answer a question. */
export function canPrompt(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Prints JSON unchanged. On a terminal, adds a line end and escapes control characters. */
export function printText(text: string): void {
  process.stdout.write(process.stdout.isTTY ? `${visibleJson(text)}\n` : text);
}

export function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

export function done(text: string): string {
  return paint(process.stdout, 'green', text);
}

/** Prints a hint if the output is a terminal. */
export function remark(text: string): void {
  if (process.stdout.isTTY) process.stderr.write(`${paint(process.stderr, 'dim', text)}\n`);
}

/** Asks a question. Only y or yes confirms it. */
export function confirm(question: string): Promise<boolean> {
  return prompt(`${question} [y/N] `, process.stderr).then((text) => /^y(es)?$/i.test(text.trim()));
}

export async function promptSecret(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const text = await prompt(question, nowhere);
  process.stderr.write('\n');
  return text.trim();
}

/** Reads one typed line. `echo` receives the characters to display. */
function prompt(question: string, echo: Writable): Promise<string> {
  const { stdin, stderr } = process;
  const lines = createInterface({ input: stdin, output: echo, terminal: true });
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      lines.off('close', end);
      lines.close();
      resolve(line);
    });
    const end = () => {
      stderr.write('\n');
      reject(new Failure(EXIT.interrupted, 'nothing was done'));
    };
    lines.once('close', end);
    // The question is shown only now that typed characters are no longer echoed.
    if (echo === stderr) lines.setPrompt(question);
    if (echo === stderr) lines.prompt();
    else stderr.write(question);
  });
}

export async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  return text;
}

export interface Progress {
  show(text: string): void;
  end(): void;
}

/** Shows a spinner if the output is a terminal. */
export function showProgress(text: string): Progress {
  if (!process.stderr.isTTY) return { show: () => {}, end: () => {} };
  let shown = text;
  let turning: ReturnType<typeof spinner> | null = null;
  const timer = setTimeout(() => {
    // If the command handles Ctrl-C itself, it also ends the spinner.
    const handleSignals = process.listenerCount('SIGINT') === 0;
    turning = spinner({ text: shown, stream: process.stderr, handleSignals }).start();
  }, SPINNER_AFTER_MS);
  return {
    show: (next) => {
      shown = next;
      if (turning !== null) turning.text = next;
    },
    end: () => {
      clearTimeout(timer);
      turning?.stop();
    },
  };
}

import { type ReadonlySignal, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { levelOf } from '../figures/log-level.js';
import { visible } from '../figures/visible.js';
import { InstanceLogged } from '../graph/documents.js';
import { Refusal } from '../graph/send.js';
import { keepFollowing } from './stream.js';

export interface LogLine {
  /** A number that increases with each line. */
  key: number;
  /** Its place among the lines received on this connection, counted from 1. */
  number: number;
  time: string;
  isError: boolean;
  text: string;
  /** Whether it names an error or a warning. */
  level: ReturnType<typeof levelOf>;
}

/** A group of lines that are drawn together. A full block never changes again. */
export interface Block {
  key: number;
  lines: readonly LogLine[];
}

const BLOCK_LINES = 100;
/** Maximum number of lines kept. Older lines are dropped. */
export const MAX_LINES = 2_000;
const MAX_CHARACTERS = 2_000_000;
/** Number of earlier lines that the service sends first. */
export const TAIL = 1_000;

type Received = ResultOf<typeof InstanceLogged>['instanceLogged'];

export interface FollowedLog {
  /** The blocks of lines, or null until the output is known. */
  blocks: ReadonlySignal<readonly Block[] | null>;
  error: ReadonlySignal<unknown>;
  end(): void;
}

/**
 * Follows an instance's output until `end` is called. Redraws at most once per frame, no matter how fast lines arrive.
 */
export function followLog(id: string): FollowedLog {
  const blocks = signal<readonly Block[] | null>(null);
  const error = signal<unknown>(null);
  let waiting: Received[number][] = [];
  let frame = 0;
  let lastKey = 0;
  /** Number of complete lines. */
  let count = 0;
  /** Blocks of complete lines. */
  let whole: readonly Block[] = [];
  /** Incomplete lines by stream, which are shown after the others. */
  const growing = new Map<Received[number]['stream'], Received[number]>();
  const lineOf = ({ time, stream, text: output }: Received[number], place: number): LogLine => {
    lastKey += 1;
    const text = plainText(output);
    const isError = stream === 'STDERR';
    return { key: lastKey, number: count + place + 1, time, isError, text, level: levelOf(text) };
  };
  const flush = () => {
    frame = 0;
    const complete: typeof waiting = [];
    for (const line of waiting) {
      growing.delete(line.stream);
      if (line.isPartial) growing.set(line.stream, line);
      else complete.push(line);
    }
    waiting = [];
    whole = kept(added(whole, complete.map(lineOf)));
    count += complete.length;
    const last = [...growing.values()].map(lineOf);
    blocks.value = last.length === 0 ? whole : [...whole, { key: last[0]!.key, lines: last }];
  };
  const stop = keepFollowing(
    InstanceLogged,
    { id, tail: TAIL },
    {
      isOfOneMachine: true,
      // Each connection starts with the last lines.
      onOpen: () => {
        waiting = [];
        whole = [];
        count = 0;
        growing.clear();
        blocks.value = [];
        error.value = null;
      },
      onEvent: ({ instanceLogged }) => {
        waiting = [...waiting, ...instanceLogged].slice(-MAX_LINES);
        if (frame === 0) frame = requestAnimationFrame(flush);
      },
      // This error has its own message, because it is the machine rather than the service that isn't responding.
      onRefused: (refusal) => {
        const isAway = refusal.code === 'unavailable';
        error.value = isAway ? new Refusal('machine_unreachable', refusal.message) : refusal;
        return refusal.retryAt !== null;
      },
    },
  );
  return {
    blocks,
    error,
    end: () => {
      cancelAnimationFrame(frame);
      stop();
    },
  };
}

/**
 * Returns a line as a terminal would show it, but without colours. If the line overwrites itself, only its last version
 * is returned.
 */
export function plainText(line: string): string {
  const written = line.split('\r').findLast((part) => part !== '') ?? '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what begins with it sets colours and moves the cursor
  return visible(written.replace(/\u001b\[[0-?]*[ -/]*[@-~]/g, ''));
}

function added(blocks: readonly Block[], lines: readonly LogLine[]): Block[] {
  const all = [...blocks];
  for (let at = 0; at < lines.length; ) {
    const last = all.at(-1);
    const room = last === undefined ? 0 : BLOCK_LINES - last.lines.length;
    const taken = lines.slice(at, at + (room > 0 ? room : BLOCK_LINES));
    if (last !== undefined && room > 0) all[all.length - 1] = { key: last.key, lines: [...last.lines, ...taken] };
    else all.push({ key: taken[0]!.key, lines: taken });
    at += taken.length;
  }
  return all;
}

/** Removes whole blocks, oldest first. The newest block always stays. */
function kept(blocks: readonly Block[]): readonly Block[] {
  let [lines, characters, first] = [0, 0, blocks.length];
  while (first > 0) {
    const block = blocks[first - 1]!;
    lines += block.lines.length;
    characters += block.lines.reduce((sum, { text }) => sum + text.length, 0);
    if (first < blocks.length && (lines > MAX_LINES || characters > MAX_CHARACTERS)) break;
    first -= 1;
  }
  return blocks.slice(first);
}

/** The lines to show: all of them, or only the warnings or errors. */
export type LevelFilter = 'all' | 'warn' | 'bad';

/**
 * Returns a function that narrows blocks to the lines of a level. It returns the same block again for an unchanged one,
 * so that only new lines are drawn.
 */
export function levelFilter(level: LevelFilter): (blocks: readonly Block[]) => readonly Block[] {
  if (level === 'all') return (blocks) => blocks;
  const narrowed = new WeakMap<Block, Block>();
  return (blocks) =>
    blocks
      .map((block) => {
        const known = narrowed.get(block) ?? { ...block, lines: block.lines.filter((line) => line.level === level) };
        narrowed.set(block, known);
        return known;
      })
      .filter(({ lines }) => lines.length > 0);
}

/** Finds all occurrences of a text in each line, ignoring case. */
export function findIn(blocks: readonly Block[], wanted: string): { line: number; place: number }[] {
  const pattern = patternOf(wanted);
  if (pattern === null) return [];
  return blocks.flatMap(({ lines }) =>
    lines.flatMap(({ key, text }) => Array.from(text.matchAll(pattern), (_, place) => ({ line: key, place }))),
  );
}

/** Returns a pattern that matches the text, or null if the text is empty. */
export function patternOf(wanted: string): RegExp | null {
  return wanted === '' ? null : new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
}

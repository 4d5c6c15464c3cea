import type { Command } from 'commander';
import type { TimelineEntry, TimelinePlace } from '../client/index.js';
import { MAX_ENTRIES, MAX_PAGE, readLimit } from './activity.js';
import { openSession } from './session.js';
import { type Column, formatUsd, table, text, when } from './table.js';
import { printLines, printText, remark, type Style } from './terminal.js';

const BYTES_PER_MB = 1_000_000;

type Kind = TimelineEntry['kind'];

/** One word for each kind, with its colour. */
const KINDS: Readonly<Record<Kind, readonly [word: string, style: Style | null]>> = {
  rented: ['rented', 'green'],
  started: ['started', 'green'],
  running: ['running', 'green'],
  failed: ['failed', 'red'],
  unreachable: ['unreachable', 'yellow'],
  reachable: ['reachable', 'green'],
  gpu_missing: ['GPU missing', 'yellow'],
  gpu_back: ['GPU back', 'green'],
  volume_stored: ['volume stored', null],
  volume_lost: ['volume lost', 'red'],
  changed: ['changed', 'cyan'],
  idle: ['idle', 'yellow'],
  limit_reached: ['limit reached', 'yellow'],
  stopped: ['stopped', 'yellow'],
  destroyed: ['destroyed', null],
  credited: ['credited', 'green'],
};

const STOPPED: Readonly<Record<NonNullable<TimelineEntry['stop_reason']>, string>> = {
  user: 'its owner asked for it',
  preempted: 'an on-demand or reserved instance took its machine',
  balance_exhausted: 'the credit ran out',
  account_suspended: 'the operator suspended the account',
  operator: 'the operator stopped it',
  start_failed: 'its container could not be started',
  command_ended: 'its command ended',
  deadline: 'its time was over',
  spend_limit: 'a spend limit was reached',
  idle: 'nothing happened on it',
};

const COLUMNS: readonly Column<TimelineEntry>[] = [
  when('WHEN', ({ at }) => at),
  text('WHAT', whatOf, { style: styleOf }),
  text('IN WORDS', wordsOf),
  text('BY', ({ asked }) => (asked === null ? '-' : asked.by_console ? `${asked.key_id} (console)` : asked.key_id), {
    spare: 1,
  }),
  text('FROM', ({ asked }) => asked?.address ?? '-', { spare: 2 }),
];

const isRefused = ({ asked }: TimelineEntry) => asked?.code != null;

function whatOf(entry: TimelineEntry): string {
  return isRefused(entry) ? 'refused' : (KINDS[entry.kind]?.[0] ?? entry.kind);
}

function styleOf(entry: TimelineEntry): Style | null {
  return isRefused(entry) ? 'red' : (KINDS[entry.kind]?.[1] ?? null);
}

/** Describes an entry; a service of another version may have other kinds and reasons. */
function wordsOf(entry: TimelineEntry): string {
  const { kind, rate_per_hour: rate, amount, seconds, stop_reason: reason, volume_name: volume } = entry;
  const { asked, size_bytes: size, host_fault: hostFault } = entry;
  const ran = seconds === null ? '' : `ran for ${seconds} s, ${formatUsd(amount ?? 0)} USD for its GPUs`;
  switch (kind) {
    case 'rented':
    case 'started':
      return rate === null ? '' : `${formatUsd(rate)} USD an hour from then on`;
    case 'running':
      return 'its container runs';
    case 'failed':
      return `its container could not be started${hostFault ? ': the machine was at fault' : ''}`;
    case 'unreachable':
      return 'its machine was no longer heard from';
    case 'reachable':
      return 'its machine was heard from again';
    case 'gpu_missing':
      return 'it is not paid for until the GPU is back';
    case 'gpu_back':
      return 'all its GPUs are there again';
    case 'volume_stored':
      return `${volume ?? ''}${size === null ? '' : `, ${(size / BYTES_PER_MB).toFixed(0)} MB in all`}`;
    case 'volume_lost':
      return `what was written to ${volume ?? ''} from then on is lost`;
    case 'changed':
      return [asked?.operation, asked?.code, asked !== null && asked.times > 1 ? `${asked.times} times` : '']
        .filter(Boolean)
        .join(', ');
    case 'idle':
      return 'its owner was told that it would stop';
    case 'limit_reached':
      return 'its spend limit was reached';
    case 'stopped':
    case 'destroyed':
      return [reason === null ? '' : (STOPPED[reason] ?? reason), ran].filter(Boolean).join('; ');
    case 'credited':
      return `${formatUsd(amount ?? 0)} USD given back for ${seconds} s`;
    default:
      return '';
  }
}

export function addTimelineCommand(program: Command): void {
  program
    .command('timeline <instance>')
    .description('what happened to an instance, newest last: why it stopped, what its machine did, who asked for what')
    .option('--limit <number>', `how many, from the newest on, at most ${MAX_ENTRIES}`, readLimit, 50)
    .option('--json', 'print JSON')
    .action(async (id: string, { limit, json }: { limit: number; json?: boolean }, command: Command) => {
      const session = openSession(command, { needsKey: true });
      const entries: TimelineEntry[] = [];
      for (let after: string | null = null; entries.length < limit; ) {
        const place: TimelinePlace = {
          first: Math.min(MAX_PAGE, limit - entries.length),
          ...(after !== null && { after }),
        };
        const { body } = await session.ask((client) => client.instances.timeline(id, place));
        entries.push(...body.data);
        if (!body.page_info.has_next_page) break;
        after = body.page_info.end_cursor;
      }
      entries.reverse();
      if (json) return printText(JSON.stringify(entries));
      if (entries.length === 0) remark('Nothing is known yet.');
      else printLines(table(entries, COLUMNS));
    });
}

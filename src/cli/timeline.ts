import type { Command } from 'commander';
import type { TimelineEntry, TimelinePlace } from '../client/index.js';
import { MAX_ENTRIES, MAX_PAGE, readLimit } from './activity.js';
import { openSession } from './session.js';
import { type Column, formatUsd, table, text, when } from './table.js';
import { printLines, printText, remark, type Style } from './terminal.js';

const BYTES_PER_MB = 1_000_000;

type Kind = TimelineEntry['kind'];

/** Label and colour of each kind of entry. */
const KINDS: Readonly<Record<Kind, readonly [label: string, style: Style | null]>> = {
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
  user: 'requested by its owner',
  preempted: 'preempted by an on-demand or reserved instance',
  balance_exhausted: 'the credit ran out',
  account_suspended: 'the operator suspended the account',
  operator: 'requested by the operator',
  start_failed: 'its container could not be started',
  command_ended: 'its command ended',
  deadline: 'its deadline was reached',
  spend_limit: 'a spend limit was reached',
  idle: 'it was idle',
};

const CREDITED: Readonly<Record<NonNullable<TimelineEntry['credit_reason']>, string>> = {
  slow_start: 'its container took too long to start',
  template_start: 'its template did not start in time',
  start_failed: 'its machine could not start it',
  outage: 'its machine was unreachable',
};

const COLUMNS: readonly Column<TimelineEntry>[] = [
  when('TIME', ({ at }) => at),
  text('EVENT', labelOf, { style: styleOf }),
  text('DETAILS', detailsOf),
  text('KEY', ({ asked }) => (asked === null ? '-' : asked.by_console ? `${asked.key_id} (console)` : asked.key_id), {
    spare: 1,
  }),
  text('ADDRESS', ({ asked }) => asked?.address ?? '-', { spare: 2 }),
];

const isRefused = ({ asked }: TimelineEntry) => asked?.code != null;

function labelOf(entry: TimelineEntry): string {
  return isRefused(entry) ? 'refused' : (KINDS[entry.kind]?.[0] ?? entry.kind);
}

function styleOf(entry: TimelineEntry): Style | null {
  return isRefused(entry) ? 'red' : (KINDS[entry.kind]?.[1] ?? null);
}

/** Returns an entry's details. A different version of the service may use other kinds and reasons. */
function detailsOf(entry: TimelineEntry): string {
  const {
    kind,
    rate_per_hour: rate,
    amount,
    seconds,
    stop_reason: reason,
    volume_name: volume,
    credit_reason: why,
  } = entry;
  const { asked, size_bytes: size, host_fault: hostFault } = entry;
  const ran = seconds === null ? '' : `ran for ${seconds} s, ${formatUsd(amount ?? 0)} USD for its GPUs`;
  switch (kind) {
    case 'rented':
    case 'started':
      return rate === null ? '' : `${formatUsd(rate)} USD per hour`;
    case 'running':
      return 'its container is running';
    case 'failed':
      return `its container could not be started${hostFault ? ' because of a machine fault' : ''}`;
    case 'unreachable':
      return 'its machine stopped responding';
    case 'reachable':
      return 'its machine responds again';
    case 'gpu_missing':
      return 'it is not billed until the GPU is back';
    case 'gpu_back':
      return 'all its GPUs are available again';
    case 'volume_stored':
      return `${volume ?? ''}${size === null ? '' : `, ${(size / BYTES_PER_MB).toFixed(0)} MB in total`}`;
    case 'volume_lost':
      return `later changes to ${volume ?? ''} are lost`;
    case 'changed':
      return [asked?.operation, asked?.code, asked !== null && asked.times > 1 ? `${asked.times} times` : '']
        .filter(Boolean)
        .join(', ');
    case 'idle':
      return 'its owner was notified that it would stop';
    case 'limit_reached':
      return 'its spend limit was reached';
    case 'stopped':
    case 'destroyed':
      return [reason === null ? '' : (STOPPED[reason] ?? reason), ran].filter(Boolean).join('; ');
    case 'credited':
      return `${formatUsd(amount ?? 0)} USD credited for ${seconds} s${why === null ? '' : `: ${CREDITED[why] ?? why}`}`;
    default:
      return '';
  }
}

export function addTimelineCommand(program: Command): void {
  program
    .command('timeline <instance>')
    .description("List an instance's events, oldest first")
    .option('--limit <number>', `Number of newest events to show, 1 to ${MAX_ENTRIES}`, readLimit, 50)
    .option('--json', 'Print JSON')
    .action(async (id: string, { limit, json }: { limit: number; json?: boolean }, command: Command) => {
      const session = openSession(command, { needsKey: true });
      const entries: TimelineEntry[] = [];
      for (let after: string | null = null; entries.length < limit; ) {
        const place: TimelinePlace = {
          first: Math.min(MAX_PAGE, limit - entries.length),
          ...(after !== null && { after }),
        };
        const { body } = await session.request((client) => client.instances.timeline(id, place));
        entries.push(...body.data);
        if (!body.page_info.has_next_page) break;
        after = body.page_info.end_cursor;
      }
      entries.reverse();
      if (json) return printText(JSON.stringify(entries));
      if (entries.length === 0) remark('There are no events yet.');
      else printLines(table(entries, COLUMNS));
    });
}

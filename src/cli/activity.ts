import { type Command, InvalidArgumentError } from 'commander';
import { visible } from '../visible.js';
import { askGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { type Column, table, text, when } from './table.js';
import { printLines, printText, remark } from './terminal.js';

interface Entry {
  at: string;
  operation: string;
  targets: string[];
  keyId: string;
  byConsole: boolean;
  address: string;
  code: string | null;
  times: number;
}

interface Page {
  activity: { pageInfo: { hasNextPage: boolean; endCursor: string | null }; edges: { node: Entry }[] };
}

const QUERY = `query ($filter: ActivityFilterInput, $first: Int, $after: String) {
  activity(filter: $filter, first: $first, after: $after) { pageInfo { hasNextPage endCursor }
    edges { node { at operation targets keyId byConsole address code times } } } }`;
/** Maximum entries of one answer. */
export const MAX_PAGE = 100;
export const MAX_ENTRIES = 10_000;

const COLUMNS: readonly Column<Entry>[] = [
  when('WHEN', ({ at }) => at),
  text('WHAT', ({ operation }) => operation, { style: () => 'cyan' }),
  text('ABOUT', ({ targets }) => visible(targets.join(' '))),
  text('ANSWER', ({ code, times }) => (code === null ? 'done' : times === 1 ? code : `${code} ×${times}`), {
    style: ({ code }) => (code === null ? 'green' : 'red'),
  }),
  text('BY', ({ keyId, byConsole }) => (byConsole ? `${keyId} (console)` : keyId), { spare: 1 }),
  text('FROM', ({ address }) => address, { spare: 2 }),
];

interface ActivityOptions extends Output {
  key?: string;
  operation?: string;
  about?: string;
  refused?: boolean;
  limit: number;
}

export function addActivityCommand(program: Command): void {
  program
    .command('activity')
    .description('the changes that your keys asked for, done or refused, newest first; of 90 days')
    .option('--key <id>', 'asked for by this API key')
    .option('--operation <name>', 'this operation, such as deploy or stop')
    .option('--about <id>', 'about this instance, key or secret')
    .option('--refused', 'what was refused alone')
    .option('--limit <number>', `how many, at most ${MAX_ENTRIES}`, readLimit, 50)
    .option('--json', 'print JSON')
    .action(async (options: ActivityOptions, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { key, operation, about, refused, limit, json } = options;
      const filter = { keyId: key, operation, target: about, ...(refused && { refused }) };
      const entries: Entry[] = [];
      for (let after: string | null = null; entries.length < limit; ) {
        const first = Math.min(MAX_PAGE, limit - entries.length);
        const { activity }: Page = await askGraphql<Page>(settings, QUERY, { filter, first, after });
        entries.push(...activity.edges.map(({ node }) => node));
        if (!activity.pageInfo.hasNextPage) break;
        after = activity.pageInfo.endCursor;
      }
      if (json) return printText(JSON.stringify(entries));
      if (entries.length === 0) remark('Nothing yet.');
      else printLines(table(entries, COLUMNS));
    });
}

/** Parses a number of entries, for `--limit`. */
export function readLimit(value: string): number {
  const limit = Number(value);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_ENTRIES) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_ENTRIES}.`);
}

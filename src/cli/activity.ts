import { type Command, InvalidArgumentError } from 'commander';
import { visible } from '../std/visible.js';
import { queryGraphql } from './graphql.js';
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
/** Maximum number of entries in one response. */
export const MAX_PAGE = 100;
export const MAX_ENTRIES = 10_000;

const COLUMNS: readonly Column<Entry>[] = [
  when('TIME', ({ at }) => at),
  text('OPERATION', ({ operation }) => operation, { style: () => 'cyan' }),
  text('TARGETS', ({ targets }) => visible(targets.join(' '))),
  text('RESULT', ({ code, times }) => (code === null ? 'done' : times === 1 ? code : `${code} ×${times}`), {
    style: ({ code }) => (code === null ? 'green' : 'red'),
  }),
  text('KEY', ({ keyId, byConsole }) => (byConsole ? `${keyId} (console)` : keyId), { spare: 1 }),
  text('ADDRESS', ({ address }) => address, { spare: 2 }),
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
    .description('List change requests made with your API keys')
    .addHelpText('after', '\nThe list covers the last 90 days, newest first, including refused requests.')
    .option('--key <id>', 'Only changes requested with this API key')
    .option('--operation <name>', 'Only this operation, such as deploy or stop')
    .option('--about <id>', 'Only changes to this instance, key or secret')
    .option('--refused', 'Only refused requests')
    .option('--limit <number>', `Maximum number of entries, 1 to ${MAX_ENTRIES}`, readLimit, 50)
    .option('--json', 'Print JSON')
    .action(async (options: ActivityOptions, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { key, operation, about, refused, limit, json } = options;
      const filter = { keyId: key, operation, target: about, ...(refused && { refused }) };
      const entries: Entry[] = [];
      for (let after: string | null = null; entries.length < limit; ) {
        const first = Math.min(MAX_PAGE, limit - entries.length);
        const { activity }: Page = await queryGraphql<Page>(settings, QUERY, { filter, first, after });
        entries.push(...activity.edges.map(({ node }) => node));
        if (!activity.pageInfo.hasNextPage) break;
        after = activity.pageInfo.endCursor;
      }
      if (json) return printText(JSON.stringify(entries));
      if (entries.length === 0) remark('No matching changes.');
      else printLines(table(entries, COLUMNS));
    });
}

/** Parses the `--limit` value. */
export function readLimit(value: string): number {
  const limit = Number(value);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_ENTRIES) return limit;
  throw new InvalidArgumentError(`must be a whole number from 1 to ${MAX_ENTRIES}.`);
}

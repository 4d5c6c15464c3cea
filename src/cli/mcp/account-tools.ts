import { askGraphql } from '../graphql.js';
import { formatUsd } from '../table.js';
import { READS, type Tool, tool } from './tool.js';

const BALANCE = 'query { balance { asOf currency balance burnPerHour exhaustsAt diskDeleteAt monthSpend } }';

interface Balance {
  balance: number;
  burnPerHour: number;
  exhaustsAt: string | null;
}

export const accountTools: readonly Tool[] = [
  tool({
    name: 'balance',
    title: 'Balance',
    description: 'Credit left, what is paid per hour now, when credit runs out, and spend this month; in USD.',
    input: {},
    annotations: READS,
    run: async ({ settings }) => {
      const { balance } = await askGraphql<{ balance: Balance }>(settings, BALANCE);
      const { balance: left, burnPerHour, exhaustsAt } = balance;
      const until = exhaustsAt === null ? '' : `, until ${exhaustsAt}`;
      const summary = `${formatUsd(left)} USD left, ${formatUsd(burnPerHour)} USD per hour${until}.`;
      return { summary, ...balance };
    },
  }),
  tool({
    name: 'list_secrets',
    title: 'List secrets',
    description: 'The secrets of the account by name, for the launch of quote. Their values are shown to nobody.',
    input: {},
    annotations: READS,
    run: async ({ settings }) => {
      const query = 'query { secrets { name kind registry username } }';
      const { secrets } = await askGraphql<{ secrets: object[] }>(settings, query);
      return { summary: `${secrets.length} secrets.`, secrets };
    },
  }),
];

import { queryGraphql } from '../graphql.js';
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
    description:
      'Returns the remaining credit, the current hourly cost, when the credit runs out, and the spend of this month, in USD.',
    input: {},
    annotations: READS,
    run: async ({ settings }) => {
      const { balance } = await queryGraphql<{ balance: Balance }>(settings, BALANCE);
      const { balance: remaining, burnPerHour, exhaustsAt } = balance;
      const until = exhaustsAt === null ? '' : `, until ${exhaustsAt}`;
      const summary = `${formatUsd(remaining)} USD of credit, ${formatUsd(burnPerHour)} USD per hour${until}.`;
      return { summary, ...balance };
    },
  }),
  tool({
    name: 'list_secrets',
    title: 'List secrets',
    description: "Lists the names of the account's secrets, for the launch of a quote. Their values are never shown.",
    input: {},
    annotations: READS,
    run: async ({ settings }) => {
      const query = 'query { secrets { name kind registry username } }';
      const { secrets } = await queryGraphql<{ secrets: object[] }>(settings, query);
      return { summary: `${secrets.length} secrets.`, secrets };
    },
  }),
];

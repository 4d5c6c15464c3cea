import { type Command, InvalidArgumentError } from 'commander';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { idOf } from './instances.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { printLines, printText } from './terminal.js';
import { readableWithAge } from './times.js';

interface Limit {
  limit: number | null;
  limitReachedAt: string | null;
}

/**
 * Describes how to read and set one kind of spending limit. The response contains the limited object, either directly
 * or in a list.
 */
interface Subject {
  read: string;
  set: string;
  /** The period that the limit covers, as shown to the user. */
  period: string;
}

const INSTANCE: Subject = {
  read: 'query ($id: ID!) { subject: instance(id: $id) { id limit: spendLimit limitReachedAt } }',
  set: 'mutation ($id: ID!, $usd: Float) { subject: setSpendLimit(id: $id, spendLimit: $usd) { id limit: spendLimit limitReachedAt } }',
  period: 'in total',
};
const KEY: Subject = {
  read: '{ subject: apiKeys { id limit: monthlyLimit limitReachedAt } }',
  set: 'mutation ($id: ID!, $usd: Float) { subject: setApiKeyLimit(id: $id, monthlyLimit: $usd) { id limit: monthlyLimit limitReachedAt } }',
  period: 'per month',
};
const ACCOUNT: Subject = {
  read: '{ subject: account { id limit: monthlyLimit limitReachedAt } }',
  set: 'mutation ($usd: Float) { subject: setMonthlyLimit(monthlyLimit: $usd) { id limit: monthlyLimit limitReachedAt } }',
  period: 'per month',
};

const KEY_ID = /^key-[0-9a-f]+$/;

export function addLimitCommand(program: Command): void {
  program
    .command('limit')
    .argument('<subject>', 'Instance id or name, API key id, or "account"')
    .argument('[usd]', 'New limit in USD, or "none" to remove it')
    .description("Show or set an instance's total spend limit, or the monthly limit (UTC) on an API key or the account")
    .addHelpText('after', '\nInstances stop in the second in which a limit is reached. Their disks are still\nbilled.')
    .option('--json', "Print the service's JSON response unchanged")
    .action(async (name: string, usd: string | undefined, { json }: Output, command: Command) => {
      const subject = name === 'account' ? ACCOUNT : KEY_ID.test(name) ? KEY : INSTANCE;
      const session = openSession(command, { needsKey: true });
      const id = subject === INSTANCE ? await idOf(session, name) : name;
      const variables = { ...(id !== 'account' && { id }), ...(usd !== undefined && { usd: usdOf(usd) }) };
      const isSet = usd !== undefined;
      const sent = isSet ? variables : subject === INSTANCE ? { id } : {};
      const answer = await queryGraphql<{ subject: Found | Found[] | null }>(
        session.settings,
        isSet ? subject.set : subject.read,
        sent,
      );
      const found = Array.isArray(answer.subject) ? answer.subject.find((each) => each.id === id) : answer.subject;
      if (!found)
        throw new Failure(EXIT.refused, `no such ${subject === KEY ? 'API key' : 'instance'}: ${visible(id)}`);
      if (json) return printText(JSON.stringify(found));
      printLines([sentence(id, subject, found)]);
    });
}

type Found = Limit & { id: string };

function sentence(id: string, { period }: Subject, { limit, limitReachedAt }: Found): string {
  if (limit === null) return `${id} has no spend limit`;
  const when = limitReachedAt === null ? '' : `; reached at ${readableWithAge(limitReachedAt)}`;
  return `${id} may spend ${limit.toFixed(2)} USD ${period}${when}`;
}

function usdOf(text: string): number | null {
  if (text === 'none') return null;
  try {
    return amount(text);
  } catch (error) {
    if (error instanceof InvalidArgumentError)
      throw new Failure(EXIT.usage, `limit must be an amount in USD or "none"; got ${visible(text)}`);
    throw error;
  }
}

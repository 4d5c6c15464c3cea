import { type Command, InvalidArgumentError } from 'commander';
import { visible } from '../visible.js';
import { EXIT, Failure } from './failure.js';
import { askGraphql } from './graphql.js';
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
 * How to read and set the limit of one kind of subject. The first field of an answer is the subject, or a list that
 * contains it.
 */
interface Subject {
  read: string;
  set: string;
  /** The limit's name in a sentence. */
  words: string;
}

const INSTANCE: Subject = {
  read: 'query ($id: ID!) { subject: instance(id: $id) { id limit: spendLimit limitReachedAt } }',
  set: 'mutation ($id: ID!, $usd: Float) { subject: setSpendLimit(id: $id, spendLimit: $usd) { id limit: spendLimit limitReachedAt } }',
  words: 'in all',
};
const KEY: Subject = {
  read: '{ subject: apiKeys { id limit: monthlyLimit limitReachedAt } }',
  set: 'mutation ($id: ID!, $usd: Float) { subject: setApiKeyLimit(id: $id, monthlyLimit: $usd) { id limit: monthlyLimit limitReachedAt } }',
  words: 'in a month',
};
const ACCOUNT: Subject = {
  read: '{ subject: account { id limit: monthlyLimit limitReachedAt } }',
  set: 'mutation ($usd: Float) { subject: setMonthlyLimit(monthlyLimit: $usd) { id limit: monthlyLimit limitReachedAt } }',
  words: 'in a month',
};

const KEY_ID = /^key-[0-9a-f]+$/;

export function addLimitCommand(program: Command): void {
  program
    .command('limit <of> [usd]')
    .description(
      'what an instance may cost, or in a UTC month an API key or `account` may spend; with an amount, set it',
    )
    .addHelpText('after', '\nWhat runs stops at the second at which a limit is reached. none takes a limit away.')
    .option('--json', "print the service's answer as it is")
    .action(async (given: string, usd: string | undefined, { json }: Output, command: Command) => {
      const subject = given === 'account' ? ACCOUNT : KEY_ID.test(given) ? KEY : INSTANCE;
      const session = openSession(command, { needsKey: true });
      const of = subject === INSTANCE ? await idOf(session, given) : given;
      const variables = { ...(of !== 'account' && { id: of }), ...(usd !== undefined && { usd: usdOf(usd) }) };
      const isSet = usd !== undefined;
      const asked = isSet ? variables : subject === INSTANCE ? { id: of } : {};
      const answer = await askGraphql<{ subject: Found | Found[] | null }>(
        session.settings,
        isSet ? subject.set : subject.read,
        asked,
      );
      const found = Array.isArray(answer.subject) ? answer.subject.find(({ id }) => id === of) : answer.subject;
      if (!found)
        throw new Failure(EXIT.refused, `no such ${subject === KEY ? 'API key' : 'instance'}: ${visible(of)}`);
      if (json) return printText(JSON.stringify(found));
      printLines([sentence(of, subject, found)]);
    });
}

type Found = Limit & { id: string };

function sentence(of: string, { words }: Subject, { limit, limitReachedAt }: Found): string {
  if (limit === null) return `${of} has no spend limit`;
  const when = limitReachedAt === null ? '' : `: reached at ${readableWithAge(limitReachedAt)}`;
  return `${of} may spend ${limit.toFixed(2)} USD ${words}${when}`;
}

function usdOf(text: string): number | null {
  if (text === 'none') return null;
  try {
    return amount(text);
  } catch (error) {
    if (error instanceof InvalidArgumentError)
      throw new Failure(EXIT.usage, `${visible(text)} is neither an amount nor none`);
    throw error;
  }
}

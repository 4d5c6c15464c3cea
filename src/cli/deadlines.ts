import type { Command } from 'commander';
import type { DeployRequest } from '../client/index.js';
import { visible } from '../visible.js';
import { EXIT, Failure } from './failure.js';
import { askGraphql } from './graphql.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { printLines, printText } from './terminal.js';

export interface DeadlineOptions {
  stopAt?: string;
  destroyAt?: string;
  spendLimit?: number;
}

interface Deadlines {
  id: string;
  stopAt: string | null;
  destroyAt: string | null;
}

const WHEN = 'from now (90m, 8h, 2d12h) or an instant (2026-11-23T18:00:00Z)';
const READ = 'query ($id: ID!) { instance(id: $id) { id stopAt destroyAt } }';
/** A variable that is left out leaves its deadline as it is. */
const SET = `mutation ($id: ID!, $stopAt: String, $destroyAt: String) {
  setDeadlines(id: $id, stopAt: $stopAt, destroyAt: $destroyAt) { id stopAt destroyAt } }`;

/** The options of a deploy that say when the instance ends by itself, and what it may cost. */
export function withDeadlines(command: Command): Command {
  return command
    .option('--stop-at <when>', `stop it by itself: ${WHEN}`)
    .option('--destroy-at <when>', 'destroy it by itself, with its disk')
    .option('--spend-limit <usd>', 'stop it once it has cost so much in all', amount);
}

/** The members of the request that the options ask for. */
export function deadlinesOf({ stopAt, destroyAt, spendLimit }: DeadlineOptions): Partial<DeployRequest> {
  return {
    ...(stopAt !== undefined && { stop_at: stopAt }),
    ...(destroyAt !== undefined && { destroy_at: destroyAt }),
    ...(spendLimit !== undefined && { spend_limit: spendLimit }),
  };
}

export function addDeadlineCommand(program: Command): void {
  program
    .command('deadline <id>')
    .description('when an instance stops or is destroyed by itself; with options, change that')
    .option('--stop-at <when>', `${WHEN}, or none`)
    .option('--destroy-at <when>', 'the same, for destroying it with its disk')
    .option('--json', "print the service's answer as it is")
    .action(async (id: string, { stopAt, destroyAt, json }: DeadlineOptions & Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const change = {
        ...(stopAt !== undefined && { stopAt: nullOfNone(stopAt) }),
        ...(destroyAt !== undefined && { destroyAt: nullOfNone(destroyAt) }),
      };
      const isChange = Object.keys(change).length > 0;
      const answer = await askGraphql<Record<string, Deadlines | null>>(settings, isChange ? SET : READ, {
        id,
        ...change,
      });
      const deadlines = answer.setDeadlines ?? answer.instance;
      if (!deadlines) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
      if (json) return printText(JSON.stringify(deadlines));
      printLines([
        `${deadlines.id} ${whenOf('stops', deadlines.stopAt)}`,
        `${deadlines.id} ${whenOf('is destroyed', deadlines.destroyAt)}`,
      ]);
    });
}

function whenOf(what: string, at: string | null): string {
  return at === null ? `has no time at which it ${what}` : `${what} at ${at}`;
}

function nullOfNone(when: string): string | null {
  return when === 'none' ? null : when;
}

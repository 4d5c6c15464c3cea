import { type Command, InvalidArgumentError } from 'commander';
import type { DeployRequest } from '../client/index.js';
import { visible } from '../visible.js';
import { EXIT, Failure } from './failure.js';
import { askGraphql } from './graphql.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { printLines, printText } from './terminal.js';
import { readableWithAge } from './times.js';

export interface DeadlineOptions {
  stopAt?: string;
  destroyAt?: string;
  spendLimit?: number;
  stopWhenIdle?: number;
}

interface Deadlines {
  id: string;
  stopAt: string | null;
  destroyAt: string | null;
}

const IDLE_TIME = '5m to 24h, such as 30m';
const WHEN = 'from now (90m, 8h, 2d12h) or an instant (2026-11-23T18:00:00Z)';
const READ = 'query ($id: ID!) { instance(id: $id) { id stopAt destroyAt } }';
/** An omitted variable leaves its deadline unchanged. */
const SET = `mutation ($id: ID!, $stopAt: String, $destroyAt: String) {
  setDeadlines(id: $id, stopAt: $stopAt, destroyAt: $destroyAt) { id stopAt destroyAt } }`;

/** Adds the options of a deploy that set when the instance ends automatically, and its spending limit. */
export function withDeadlines(command: Command): Command {
  return command
    .option('--stop-at <when>', `stop it by itself: ${WHEN}`)
    .option('--destroy-at <when>', 'destroy it by itself, with its disk')
    .option('--spend-limit <usd>', 'stop it once it has cost so much in all', amount)
    .option('--stop-when-idle <time>', `stop it when nothing happens on it for ${IDLE_TIME}`, idleMinutes);
}

/** Returns the members of the request for the options. */
export function deadlinesOf({ stopAt, destroyAt, spendLimit, stopWhenIdle }: DeadlineOptions): Partial<DeployRequest> {
  return {
    ...(stopAt !== undefined && { stop_at: stopAt }),
    ...(destroyAt !== undefined && { destroy_at: destroyAt }),
    ...(spendLimit !== undefined && { spend_limit: spendLimit }),
    ...(stopWhenIdle !== undefined && { stop_when_idle: stopWhenIdle }),
  };
}

export function addDeadlineCommand(program: Command): void {
  program
    .command('deadline <instance>')
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

/** Parses minutes from a duration such as 30m, 2h or 1h30m. */
function idleMinutes(text: string): number {
  const [, hours = '0', minutes = '0'] = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,5})m)?$/.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  if (total === 0) throw new InvalidArgumentError(`must be ${IDLE_TIME}.`);
  return total;
}

interface Idle {
  id: string;
  stopWhenIdle: number | null;
}

const READ_IDLE = 'query ($id: ID!) { subject: instance(id: $id) { id stopWhenIdle } }';
const SET_IDLE =
  'mutation ($id: ID!, $minutes: Int) { subject: setStopWhenIdle(id: $id, stopWhenIdle: $minutes) { id stopWhenIdle } }';

export function addIdleCommand(program: Command): void {
  program
    .command('idle <instance> [time]')
    .description('after which time without anything happening an instance stops; with a time or `none`, set it')
    .addHelpText(
      'after',
      `\nThe time is ${IDLE_TIME}. A GPU busy above 5 % happens, and so does a connection by SSH, to a web port or a TCP port.`,
    )
    .option('--json', "print the service's answer as it is")
    .action(async (id: string, time: string | undefined, { json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const change = time === undefined ? {} : { minutes: time === 'none' ? null : givenMinutes(time) };
      const document = time === undefined ? READ_IDLE : SET_IDLE;
      const { subject } = await askGraphql<{ subject: Idle | null }>(settings, document, { id, ...change });
      if (!subject) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
      if (json) return printText(JSON.stringify(subject));
      const { stopWhenIdle } = subject;
      const says = stopWhenIdle === null ? 'does not stop when it is idle' : `stops after ${stopWhenIdle} idle minutes`;
      printLines([`${subject.id} ${says}`]);
    });
}

function givenMinutes(time: string): number {
  try {
    return idleMinutes(time);
  } catch {
    throw new Failure(EXIT.usage, `${visible(time)} is neither ${IDLE_TIME}, nor none`);
  }
}

function whenOf(what: string, at: string | null): string {
  return at === null ? `has no time at which it ${what}` : `${what} at ${readableWithAge(at)}`;
}

function nullOfNone(when: string): string | null {
  return when === 'none' ? null : when;
}

import { type Command, InvalidArgumentError } from 'commander';
import type { DeployRequest } from '../client/index.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { addLabel } from './labels.js';
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
  label?: Record<string, string>;
}

interface Deadlines {
  id: string;
  stopAt: string | null;
  destroyAt: string | null;
}

const IDLE_TIME = '5m to 24h, such as 30m';
const WHEN = 'after a duration (90m, 8h, 2d12h) or at a time (2026-11-23T18:00:00Z)';
const READ = 'query ($id: ID!) { instance(id: $id) { id stopAt destroyAt } }';
/** Sets the deadlines. Omitting a variable leaves its deadline unchanged. */
const SET = `mutation ($id: ID!, $stopAt: String, $destroyAt: String) {
  setDeadlines(id: $id, stopAt: $stopAt, destroyAt: $destroyAt) { id stopAt destroyAt } }`;

/** Adds the options that label a deployed instance, limit its cost, and stop or destroy it automatically. */
export function withDeadlines(command: Command): Command {
  return command
    .option('--stop-at <when>', `Stop the instance automatically ${WHEN}`)
    .option('--destroy-at <when>', 'Destroy the instance and its disk automatically; same format')
    .option('--spend-limit <usd>', 'Stop the instance once its total cost reaches this amount in USD', amount)
    .option('--stop-when-idle <time>', `Stop the instance after this much idle time, ${IDLE_TIME}`, idleMinutes)
    .option('--label <key=value>', 'Label for finding the instance in lists; repeatable', addLabel);
}

/** Returns the request fields set by the options. */
export function deadlinesOf({
  stopAt,
  destroyAt,
  spendLimit,
  stopWhenIdle,
  label,
}: DeadlineOptions): Partial<DeployRequest> {
  return {
    ...(stopAt !== undefined && { stop_at: stopAt }),
    ...(destroyAt !== undefined && { destroy_at: destroyAt }),
    ...(spendLimit !== undefined && { spend_limit: spendLimit }),
    ...(stopWhenIdle !== undefined && { stop_when_idle: stopWhenIdle }),
    ...(label !== undefined && { labels: label }),
  };
}

export function addDeadlineCommand(program: Command): void {
  program
    .command('deadline <instance>')
    .description('Show or set when an instance is stopped or destroyed automatically')
    .option('--stop-at <when>', `Stop the instance ${WHEN}, or "none" for never`)
    .option('--destroy-at <when>', 'Destroy the instance and its disk; same format')
    .option('--json', "Print the service's JSON response unchanged")
    .action(async (id: string, { stopAt, destroyAt, json }: DeadlineOptions & Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const change = {
        ...(stopAt !== undefined && { stopAt: nullOfNone(stopAt) }),
        ...(destroyAt !== undefined && { destroyAt: nullOfNone(destroyAt) }),
      };
      const isChange = Object.keys(change).length > 0;
      const answer = await queryGraphql<Record<string, Deadlines | null>>(settings, isChange ? SET : READ, {
        id,
        ...change,
      });
      const deadlines = answer.setDeadlines ?? answer.instance;
      if (!deadlines) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
      if (json) return printText(JSON.stringify(deadlines));
      printLines([
        `${deadlines.id} ${deadlineOf('stopped', deadlines.stopAt)}`,
        `${deadlines.id} ${deadlineOf('destroyed', deadlines.destroyAt)}`,
      ]);
    });
}

/** Parses a duration such as 30m, 2h or 1h30m into minutes. */
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
    .command('idle <instance>')
    .argument('[time]', `Idle time, ${IDLE_TIME}, or "none" to disable it`)
    .description('Show or set the idle time after which an instance stops')
    .addHelpText('after', '\nActivity means a GPU load above 5%, or a connection over SSH or to a web or TCP\nport.')
    .option('--json', "Print the service's JSON response unchanged")
    .action(async (id: string, time: string | undefined, { json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const change = time === undefined ? {} : { minutes: time === 'none' ? null : minutesOf(time) };
      const document = time === undefined ? READ_IDLE : SET_IDLE;
      const { subject } = await queryGraphql<{ subject: Idle | null }>(settings, document, { id, ...change });
      if (!subject) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
      if (json) return printText(JSON.stringify(subject));
      const { stopWhenIdle } = subject;
      const rule =
        stopWhenIdle === null ? 'does not stop when idle' : `stops after ${stopWhenIdle} minutes without activity`;
      printLines([`${subject.id} ${rule}`]);
    });
}

function minutesOf(time: string): number {
  try {
    return idleMinutes(time);
  } catch {
    throw new Failure(EXIT.usage, `time must be ${IDLE_TIME}, or "none"; got ${visible(time)}`);
  }
}

function deadlineOf(action: 'stopped' | 'destroyed', at: string | null): string {
  return at === null ? `will not be ${action} automatically` : `will be ${action} at ${readableWithAge(at)}`;
}

function nullOfNone(when: string): string | null {
  return when === 'none' ? null : when;
}

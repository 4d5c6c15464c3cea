import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { printLines, printText } from './terminal.js';
import { IDLE_TIME, idleMinutes, WHEN } from './terms.js';
import { readableWithAge } from './times.js';

interface Deadlines {
  id: string;
  stopAt: string | null;
  destroyAt: string | null;
}

const READ = 'query ($id: ID!) { instance(id: $id) { id stopAt destroyAt } }';
/** Sets the deadlines. Omitting a variable leaves its deadline unchanged. */
const SET = `mutation ($id: ID!, $stopAt: String, $destroyAt: String) {
  setDeadlines(id: $id, stopAt: $stopAt, destroyAt: $destroyAt) { id stopAt destroyAt } }`;

export function addDeadlineCommand(program: Command): void {
  program
    .command('deadline <instance>')
    .description('Show or set when an instance is stopped or destroyed automatically')
    .option('--stop-at <when>', `Stop the instance ${WHEN}, or "none" for never`)
    .option('--destroy-at <when>', 'Destroy the instance and its disk; same format')
    .option('--json', "Print the service's JSON response unchanged")
    .action(
      async (
        id: string,
        { stopAt, destroyAt, json }: { stopAt?: string; destroyAt?: string } & Output,
        command: Command,
      ) => {
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
      },
    );
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

import type { Command } from 'commander';
import { visible } from '../visible.js';
import { askGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { done, printLines, printText, remark } from './terminal.js';
import { readableWithAge } from './times.js';

interface MailAddress {
  address: string;
  events: string[] | null;
  confirmedAt: string | null;
  confirmBy: string | null;
  pausedAt: string | null;
  pauseReason: string | null;
  waiting: number;
}

const FIELDS = 'address events confirmedAt confirmBy pausedAt pauseReason waiting';
const SHOW = `{ mailAddress { ${FIELDS} } }`;
const SET = `mutation ($address: String!, $events: [String!]) {
  setMailAddress(address: $address, events: $events) { ${FIELDS} } }`;

export function addMailCommands(program: Command): void {
  const mail = program.command('mail').description('the mail address that is told of events of your account');
  mail
    .command('show')
    .description('the address, and whether mail is sent to it')
    .option('--json', 'print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { mailAddress } = await askGraphql<{ mailAddress: MailAddress | null }>(settings, SHOW);
      if (json) return printText(JSON.stringify(mailAddress));
      if (mailAddress === null) remark('No mail address. `gpu mail set ADDRESS` sets one.');
      else printLines([sentence(mailAddress)]);
    });
  mail
    .command('set <address>')
    .description('send mail there, once its reader has confirmed it by the link that is mailed')
    .option('--event <type>', 'only this type, such as balance.low; may be repeated (default: all)', collect, [])
    .action(async (address: string, { event }: { event: string[] }, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const events = event.length === 0 ? null : event;
      const { setMailAddress } = await askGraphql<{ setMailAddress: MailAddress }>(settings, SET, { address, events });
      printLines([done(sentence(setMailAddress))]);
    });
  for (const [name, description, isDone] of [
    ['test', 'send a mail that says that it is a test', 'a test mail is sent'],
    ['delete', 'send no more mail, and forget the address', 'the mail address is deleted'],
  ] as const)
    mail
      .command(name)
      .description(description)
      .action(async (_options: object, command: Command) => {
        const { settings } = openSession(command, { needsKey: true });
        await askGraphql(settings, `mutation { ${name}MailAddress${name === 'test' ? ' { address }' : ''} }`);
        printLines([done(isDone)]);
      });
}

function sentence({ address, events, confirmedAt, confirmBy, pausedAt, pauseReason, waiting }: MailAddress): string {
  const to = visible(address);
  if (pausedAt !== null) return `mail to ${to} is paused: ${visible(pauseReason ?? '')}`;
  if (confirmedAt === null)
    return `${to} is asked for confirmation; the link is valid until ${readableWithAge(confirmBy)}`;
  return `${to} is told of ${events?.join(' ') ?? 'all events'}; ${waiting} waiting`;
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, ...value.split(',')];
}

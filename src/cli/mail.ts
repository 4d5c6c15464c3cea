import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import { collectList } from './collect.js';
import { queryGraphql } from './graphql.js';
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
  const mail = program.command('mail').description('Manage the email address that receives events');
  mail
    .command('show')
    .description('Show the email address and whether email is sent to it')
    .option('--json', 'Print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { mailAddress } = await queryGraphql<{ mailAddress: MailAddress | null }>(settings, SHOW);
      if (json) return printText(JSON.stringify(mailAddress));
      if (mailAddress === null) remark('No email address. `gpu mail set ADDRESS` sets one.');
      else printLines([sentence(mailAddress)]);
    });
  mail
    .command('set <address>')
    .description('Send email to an address once its owner opens the emailed confirmation link')
    .option('--event <type>', 'Only events of this type, such as balance.low; repeatable (default: all)', collectList)
    .action(async (address: string, { event }: { event?: string[] }, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { setMailAddress } = await queryGraphql<{ setMailAddress: MailAddress }>(settings, SET, {
        address,
        events: event ?? null,
      });
      printLines([done(sentence(setMailAddress))]);
    });
  for (const [name, description, isDone] of [
    ['test', 'Send a test email', 'a test email has been sent'],
    ['delete', 'Delete the email address and stop sending email', 'the email address has been deleted'],
  ] as const)
    mail
      .command(name)
      .description(description)
      .action(async (_options: object, command: Command) => {
        const { settings } = openSession(command, { needsKey: true });
        await queryGraphql(settings, `mutation { ${name}MailAddress${name === 'test' ? ' { address }' : ''} }`);
        printLines([done(isDone)]);
      });
}

function sentence({ address, events, confirmedAt, confirmBy, pausedAt, pauseReason, waiting }: MailAddress): string {
  const to = visible(address);
  if (pausedAt !== null) return `email to ${to} is paused: ${visible(pauseReason ?? '')}`;
  if (confirmedAt === null)
    return `${to} is not confirmed yet; the emailed link is valid until ${readableWithAge(confirmBy)}`;
  return `${to} receives ${events?.join(' ') ?? 'all events'}; ${waiting} waiting`;
}

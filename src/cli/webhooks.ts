import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import { collectList } from './collect.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { type Column, table, text, when } from './table.js';
import { done, printLines, printText, remark } from './terminal.js';

interface Webhook {
  id: string;
  url: string;
  events: string[] | null;
  pausedAt: string | null;
  pauseReason: string | null;
  waiting: number;
}

interface Attempt {
  at: string;
  number: number;
  status: number | null;
  error: string | null;
  tookMs: number;
  eventId: string;
  eventType: string;
}

const FIELDS = 'id url events pausedAt pauseReason waiting';
const LIST = `{ webhooks { ${FIELDS} } }`;
const ATTEMPTS = '{ webhooks { id attempts(first: 50) { at number status error tookMs eventId eventType } } }';
const CREATE = `mutation ($url: String!, $events: [String!]) {
  createWebhook(url: $url, events: $events) { secret webhook { ${FIELDS} } } }`;
const ROTATE = 'mutation ($id: ID!) { rotateWebhookSecret(id: $id) { secret } }';
const PAUSE = 'mutation ($id: ID!, $paused: Boolean) { changeWebhook(id: $id, paused: $paused) { id } }';
const REDELIVER = 'mutation ($id: ID!, $eventId: ID!) { redeliver(id: $id, eventId: $eventId) { id } }';
const NOTICE = 'mutation ($below: USD) { setBalanceNotice(below: $below) }';

/** Deprecated name of rotate-secret. */
const OLD_ROTATE = 'turn-secret';

const COLUMNS: readonly Column<Webhook>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('URL', ({ url }) => visible(url)),
  text('EVENTS', ({ events }) => events?.join(' ') ?? 'all', { spare: 2 }),
  text('WAITING', ({ waiting }) => String(waiting)),
  text('STATE', ({ pausedAt, pauseReason }) => (pausedAt === null ? 'active' : `paused: ${pauseReason}`)),
];

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  when('TIME', ({ at }) => at),
  text('EVENT', ({ eventId }) => eventId, { style: () => 'cyan' }),
  text('TYPE', ({ eventType }) => eventType),
  text('ATTEMPT', ({ number }) => String(number)),
  text('RESULT', ({ status, error }) => visible(status === null ? (error ?? '') : String(status))),
  text('TOOK', ({ tookMs }) => `${tookMs} ms`, { spare: 1 }),
];

export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('Manage webhooks, which receive signed events');
  webhook
    .command('create <url>')
    .description('Create a webhook, and print only its signing secret to stdout, once')
    .option(
      '--event <type>',
      'Only events of this type, such as instance.stopped; repeatable (default: all)',
      collectList,
    )
    .action(create);
  webhook
    .command('list')
    .description('List your webhooks and the number of events pending for each')
    .option('--json', 'Print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { webhooks } = await queryGraphql<{ webhooks: Webhook[] }>(settings, LIST);
      if (json) return printText(JSON.stringify(webhooks));
      if (webhooks.length === 0) remark('No webhooks. `gpu webhook create URL` creates one.');
      else printLines(table(webhooks, COLUMNS));
    });
  webhook
    .command('attempts <id>')
    .description("List a webhook's latest delivery attempts, newest first")
    .option('--json', 'Print JSON')
    .action(attempts);
  simple(webhook, 'test', 'Send a webhook.test event to a webhook', (id) => `a test event has been sent to ${id}`);
  simple(webhook, 'delete', 'Delete a webhook and its log of attempts', (id) => `${id} has been deleted`);
  webhook
    .command('redeliver <id> <event>')
    .description('Resend an event from the last 30 days')
    .action(async (id: string, eventId: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, REDELIVER, { id, eventId });
      printLines([done(`${eventId} has been resent`)]);
    });
  for (const [name, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    webhook
      .command(`${name} <id>`)
      .description(paused ? 'Pause event delivery to a webhook' : 'Resume delivery of new events to a webhook')
      .action(async (id: string, _options: object, command: Command) => {
        const { settings } = openSession(command, { needsKey: true });
        await queryGraphql(settings, PAUSE, { id, paused });
        printLines([done(`${id} is ${paused ? 'paused' : 'active'}`)]);
      });
  }
  webhook
    .command('rotate-secret <id>')
    .description('Rotate the signing secret and print only the new one; the previous one also signs for a day')
    .action(rotateSecret);
  webhook.command(`${OLD_ROTATE} <id>`, { hidden: true }).action((id: string, options: object, command: Command) => {
    process.stderr.write(`gpu: webhook ${OLD_ROTATE} is deprecated; use webhook rotate-secret\n`);
    return rotateSecret(id, options, command);
  });
  webhook
    .command('low-balance')
    .argument('<usd>', 'Balance in USD that triggers balance.low, or "off" to disable it')
    .description('Set the low-balance notice threshold')
    .action(async (usd: string, _options: object, command: Command) => {
      const below = usd === 'off' ? null : Number(usd);
      if (Number.isNaN(below))
        throw new Failure(EXIT.usage, `threshold must be an amount in USD or "off"; got ${visible(usd)}`);
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, NOTICE, { below });
      printLines([done(below === null ? 'balance.low is disabled' : `balance.low is sent at ${below} USD`)]);
    });
}

async function rotateSecret(id: string, _options: object, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { rotateWebhookSecret } = await queryGraphql<{ rotateWebhookSecret: { secret: string } }>(settings, ROTATE, {
    id,
  });
  printLines([rotateWebhookSecret.secret]);
}

function simple(webhook: Command, name: 'test' | 'delete', description: string, report: (id: string) => string): void {
  webhook
    .command(`${name} <id>`)
    .description(description)
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, `mutation ($id: ID!) { ${name}Webhook(id: $id) { id } }`, { id });
      printLines([done(report(id))]);
    });
}

async function create(url: string, { event }: { event?: string[] }, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { createWebhook } = await queryGraphql<{ createWebhook: { secret: string; webhook: Webhook } }>(
    settings,
    CREATE,
    {
      url,
      events: event ?? null,
    },
  );
  printLines([createWebhook.secret]);
  remark(`${createWebhook.webhook.id} receives events. The secret is shown only once.`);
}

async function attempts(id: string, { json }: Output, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { webhooks } = await queryGraphql<{ webhooks: { id: string; attempts: Attempt[] }[] }>(settings, ATTEMPTS);
  const found = webhooks.find((each) => each.id === id);
  if (found === undefined) throw new Failure(EXIT.refused, `no such webhook: ${visible(id)}`);
  if (json) return printText(JSON.stringify(found.attempts));
  if (found.attempts.length === 0) remark('There are no attempts yet.');
  else printLines(table(found.attempts, ATTEMPT_COLUMNS));
}

import type { Command } from 'commander';
import { visible } from '../visible.js';
import { EXIT, Failure } from './failure.js';
import { askGraphql } from './graphql.js';
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

const COLUMNS: readonly Column<Webhook>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('URL', ({ url }) => visible(url)),
  text('EVENTS', ({ events }) => events?.join(' ') ?? 'all', { spare: 2 }),
  text('WAITING', ({ waiting }) => String(waiting)),
  text('STATE', ({ pausedAt, pauseReason }) => (pausedAt === null ? 'sent to' : `paused: ${pauseReason}`)),
];

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  when('WHEN', ({ at }) => at),
  text('EVENT', ({ eventId }) => eventId, { style: () => 'cyan' }),
  text('TYPE', ({ eventType }) => eventType),
  text('ATTEMPT', ({ number }) => String(number)),
  text('ANSWER', ({ status, error }) => visible(status === null ? (error ?? '') : String(status))),
  text('TOOK', ({ tookMs }) => `${tookMs} ms`, { spare: 1 }),
];

export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('where events of your account are sent to, signed');
  webhook
    .command('create <url>')
    .description('send events to an address; the secret that signs them is printed once, alone on stdout')
    .option('--event <type>', 'only this type, such as instance.stopped; may be repeated (default: all)', collect, [])
    .action(create);
  webhook
    .command('list')
    .description('your webhooks, and how many events wait for each')
    .option('--json', 'print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { webhooks } = await askGraphql<{ webhooks: Webhook[] }>(settings, LIST);
      if (json) return printText(JSON.stringify(webhooks));
      if (webhooks.length === 0) remark('No webhooks. `gpu webhook create URL` makes one.');
      else printLines(table(webhooks, COLUMNS));
    });
  webhook
    .command('attempts <id>')
    .description('the last attempts to send something to it, newest first')
    .option('--json', 'print JSON')
    .action(attempts);
  simple(webhook, 'test', 'send it an event of the type webhook.test', 'is sent a test');
  simple(webhook, 'delete', 'delete it, with the log of its attempts', 'is deleted');
  webhook
    .command('redeliver <id> <event>')
    .description('send an event of the last 30 days again')
    .action(async (id: string, eventId: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await askGraphql(settings, REDELIVER, { id, eventId });
      printLines([done(`${eventId} is sent again`)]);
    });
  for (const [name, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    webhook
      .command(`${name} <id>`)
      .description(paused ? 'send nothing to it' : 'send it what happens from now on')
      .action(async (id: string, _options: object, command: Command) => {
        const { settings } = openSession(command, { needsKey: true });
        await askGraphql(settings, PAUSE, { id, paused });
        printLines([done(`${id} is ${paused ? 'paused' : 'sent to'}`)]);
      });
  }
  webhook
    .command('rotate-secret <id>')
    .description('Rotate the secret and print only it; the previous one also signs for a day')
    .action(rotateSecret);
  webhook.command('turn-secret <id>', { hidden: true }).action((id: string, options: object, command: Command) => {
    process.stderr.write('gpu: webhook turn-secret is deprecated; use webhook rotate-secret\n');
    return rotateSecret(id, options, command);
  });
  webhook
    .command('low-balance <usd>')
    .description('be told when the balance falls to this amount; off for never')
    .action(async (usd: string, _options: object, command: Command) => {
      const below = usd === 'off' ? null : Number(usd);
      if (Number.isNaN(below)) throw new Failure(EXIT.usage, 'give an amount in USD, or off');
      const { settings } = openSession(command, { needsKey: true });
      await askGraphql(settings, NOTICE, { below });
      printLines([done(below === null ? 'balance.low is not told' : `balance.low is told at ${below} USD`)]);
    });
}

async function rotateSecret(id: string, _options: object, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { rotateWebhookSecret } = await askGraphql<{ rotateWebhookSecret: { secret: string } }>(settings, ROTATE, {
    id,
  });
  printLines([rotateWebhookSecret.secret]);
}

function simple(webhook: Command, name: 'test' | 'delete', description: string, isDone: string): void {
  webhook
    .command(`${name} <id>`)
    .description(description)
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await askGraphql(settings, `mutation ($id: ID!) { ${name}Webhook(id: $id) { id } }`, { id });
      printLines([done(`${id} ${isDone}`)]);
    });
}

async function create(url: string, { event }: { event: string[] }, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { createWebhook } = await askGraphql<{ createWebhook: { secret: string; webhook: Webhook } }>(
    settings,
    CREATE,
    {
      url,
      events: event.length === 0 ? null : event,
    },
  );
  printLines([createWebhook.secret]);
  remark(`${createWebhook.webhook.id} is told. The secret is shown this once.`);
}

async function attempts(id: string, { json }: Output, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { webhooks } = await askGraphql<{ webhooks: { id: string; attempts: Attempt[] }[] }>(settings, ATTEMPTS);
  const found = webhooks.find((each) => each.id === id);
  if (found === undefined) throw new Failure(EXIT.refused, `no webhook ${id}`);
  if (json) return printText(JSON.stringify(found.attempts));
  if (found.attempts.length === 0) remark('Nothing was sent to it yet.');
  else printLines(table(found.attempts, ATTEMPT_COLUMNS));
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, ...value.split(',')];
}

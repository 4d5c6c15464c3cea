import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { renderUnicodeCompact } from 'uqr';
import { GpuConnectionError, GpuRefusal } from '../client/index.js';
import { visible } from '../visible.js';
import { EXIT, Failure } from './failure.js';
import { askGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import { type Column, card, formatUsd, table, text, when } from './table.js';
import { done, printLines, printText, remark, type Style, showProgress } from './terminal.js';
import { readableWithAge } from './times.js';

interface TopUp {
  id: string;
  state: string;
  asset: string;
  coin: string;
  network: string;
  usd: number;
  credited: number;
  address: string;
  amount: string;
  rate: string;
  uri: string;
  createdAt: string;
  expiresAt: string;
  confirmations: number | null;
  confirmationsNeeded: number;
}

const FIELDS = `id state asset coin network usd credited address amount rate uri createdAt expiresAt confirmations
  confirmationsNeeded`;
const CREATE = `mutation ($input: CreateTopUpInput!) { createTopUp(input: $input) { ${FIELDS} } }`;
const ONE = `query ($id: ID!) { topUp(id: $id) { ${FIELDS} } }`;
const LIST = `query { topUps { ${FIELDS} } }`;
const ASSETS = `query { topUpAssets { code network confirmations } }`;

const LOOK_EVERY_MS = 3_000;
/** After this time, waiting stops; \`gpu topups\` shows the state. */
const MAX_WAIT_MS = 24 * 3_600_000;
const OVER = ['CREDITED', 'UNDERPAID', 'OVERPAID', 'LATE', 'EXPIRED'];
const STYLE_OF: Record<string, Style> = { CREDITED: 'green', OVERPAID: 'green', LATE: 'green', EXPIRED: 'red' };

const COLUMNS: readonly Column<TopUp>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('STATE', stateOf, { style: ({ state }) => STYLE_OF[state] ?? 'yellow' }),
  text('ASSET', ({ asset }) => asset),
  text('USD', ({ usd }) => formatUsd(usd)),
  text('CREDITED USD', ({ credited }) => formatUsd(credited)),
  text('AMOUNT', ({ amount, coin }) => `${amount} ${coin}`, { spare: 2 }),
  when('CREATED', ({ createdAt }) => createdAt, { spare: 1 }),
];

export function addTopUpCommands(program: Command): void {
  program
    .command('topup [asset] [usd]')
    .description(
      'pay in cryptocurrency: an address, an exact amount, a QR code; without an asset: what can be paid with',
    )
    .option('--idempotency-key <key>', 'name this request, so that sending it again does nothing twice')
    .option('--no-wait', "don't wait for the payment")
    .option('--json', 'print the top-up as JSON and wait for nothing')
    .action(topUp);
  program
    .command('topups')
    .description('your top-ups, newest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { topUps } = await askGraphql<{ topUps: TopUp[] }>(settings, LIST);
      if (json) return printText(JSON.stringify(topUps));
      if (topUps.length > 0) return printLines(table(topUps, COLUMNS));
      await saysWhetherTaken(settings);
    });
}

interface Options {
  idempotencyKey?: string;
  wait: boolean;
  json?: boolean;
}

async function topUp(asset: string | undefined, usd: string | undefined, options: Options, command: Command) {
  const { settings } = openSession(command, { needsKey: true });
  if (asset === undefined) return saysWhetherTaken(settings);
  const input = {
    asset: usd === undefined ? asset : await wholeName(settings, asset),
    usd: readUsd(usd),
    idempotencyKey: options.idempotencyKey ?? randomUUID(),
  };
  const { createTopUp: made } = await askGraphql<{ createTopUp: TopUp }>(settings, CREATE, { input });
  if (options.json) return printText(JSON.stringify(made));
  printLines([...invoiceLines(made), ...(process.stdout.isTTY ? qrLines(made.uri) : [])]);
  if (options.wait && process.stderr.isTTY) await wait(settings, made);
  else remark(`\`gpu topups\` shows how far it is.`);
}

function readUsd(given: string | undefined): number {
  if (given === undefined || !/^\d{1,6}(\.\d{1,6})?$/.test(given)) {
    throw new Failure(EXIT.usage, 'the second argument must be an amount in USD such as 50 or 12.50');
  }
  return Number(given);
}

/** Completes a coin's name: a coin that is accepted on only one network, such as `USDT`, doesn't need it named. */
async function wholeName(settings: Settings, asset: string): Promise<string> {
  const wanted = asset.toUpperCase();
  if (wanted !== 'USDT') return wanted;
  const taken = await assetsOf(settings);
  const fitting = taken.filter(({ code }) => code.startsWith(`${wanted}-`));
  if (fitting.length === 1) return fitting[0]!.code;
  const names = fitting.map(({ code, network }) => `${code} (${network})`).join(', ');
  throw new Failure(EXIT.usage, names === '' ? `${wanted} can't be paid with here` : `on which network? ${names}`);
}

async function assetsOf(settings: Settings) {
  type Answer = { topUpAssets: { code: string; network: string; confirmations: number }[] };
  return (await askGraphql<Answer>(settings, ASSETS)).topUpAssets;
}

async function saysWhetherTaken(settings: Settings): Promise<void> {
  const assets = await assetsOf(settings);
  if (assets.length === 0) return printLines(['This service takes no top-ups: it has set up no payment processor.']);
  const columns: Column<(typeof assets)[number]>[] = [
    text('ASSET', ({ code }) => code, { style: () => 'cyan' }),
    text('NETWORK', ({ network }) => network),
    text('CONFIRMATIONS', ({ confirmations }) => String(confirmations)),
  ];
  printLines(table(assets, columns));
  remark('`gpu topup LTC 50` asks for 50 USD in LTC; from 5 USD up.');
}

function invoiceLines(made: TopUp): string[] {
  return card([
    ['Top-up', made.id, 'cyan'],
    ['Send exactly', visible(`${made.amount} ${made.coin}`), 'bold'],
    ['To', visible(made.address)],
    ['On', `${made.network}, and on no other network`],
    ['For', `${formatUsd(made.usd)} USD at ${visible(made.rate)} USD per ${made.coin}`],
    ['Rate until', readableWithAge(made.expiresAt)],
    ['Final after', `${made.confirmationsNeeded} confirmations`],
  ]);
}

function qrLines(uri: string): string[] {
  return ['', ...renderUnicodeCompact(uri, { border: 2 }).split('\n'), ''];
}

/** Shows a moving line until the top-up is credited or expired, or Ctrl-C. Waiting has no effect on the top-up. */
async function wait(settings: Settings, made: TopUp): Promise<void> {
  const progress = showProgress('Waiting for the payment; Ctrl-C ends the wait, not the top-up');
  const endsAt = Date.now() + MAX_WAIT_MS;
  try {
    for (let topUp = made; Date.now() < endsAt; ) {
      if (OVER.includes(topUp.state)) {
        progress.end();
        return printLines([done(`${formatUsd(topUp.credited)} USD credited (${stateOf(topUp)})`)]);
      }
      progress.say(`${stateOf(topUp)}; Ctrl-C ends the wait, not the top-up`);
      await sleep(LOOK_EVERY_MS);
      topUp = (await latest(settings, made.id)) ?? topUp;
    }
  } finally {
    progress.end();
  }
}

/** Returns null while the service can't be reached or is busy, which may be over by the next poll. */
async function latest(settings: Settings, id: string): Promise<TopUp | null> {
  try {
    return (await askGraphql<{ topUp: TopUp }>(settings, ONE, { id })).topUp;
  } catch (error) {
    const passes = error instanceof GpuRefusal && ['rate_limited', 'unavailable'].includes(error.code);
    if (passes || error instanceof GpuConnectionError) return null;
    throw error;
  }
}

function stateOf({ state, confirmations, confirmationsNeeded }: TopUp): string {
  const words = state.toLowerCase();
  return confirmations === null ? words : `${words} (${confirmations} of ${confirmationsNeeded})`;
}

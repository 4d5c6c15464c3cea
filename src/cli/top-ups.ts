import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { renderUnicodeCompact } from 'uqr';
import { GpuConnectionError, GpuRefusal } from '../client/index.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
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

const POLL_EVERY_MS = 3_000;
/** Maximum time to wait for a top-up. Afterwards, `gpu topups` still shows its state. */
const MAX_WAIT_MS = 24 * 3_600_000;
const FINAL_STATES = ['CREDITED', 'UNDERPAID', 'OVERPAID', 'LATE', 'EXPIRED'];
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
    .command('topup')
    .argument('[asset]', 'Currency, such as BTC, LTC or USDT-TRX (default: list the accepted ones)')
    .argument('[usd]', 'Amount in USD, 5 or more')
    .description('Pay in cryptocurrency: show an address, an exact amount and a QR code')
    .option('--idempotency-key <key>', 'Idempotency key; repeated requests within 24 hours return the first response')
    .option('--no-wait', "Don't wait for the payment")
    .option('--json', 'Print the top-up as JSON, without waiting')
    .action(topUp);
  program
    .command('topups')
    .description('List your top-ups, newest first')
    .option('--json', 'Print JSON')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { topUps } = await queryGraphql<{ topUps: TopUp[] }>(settings, LIST);
      if (json) return printText(JSON.stringify(topUps));
      if (topUps.length > 0) return printLines(table(topUps, COLUMNS));
      await printAssets(settings);
    });
}

interface Options {
  idempotencyKey?: string;
  wait: boolean;
  json?: boolean;
}

async function topUp(asset: string | undefined, usd: string | undefined, options: Options, command: Command) {
  const { settings } = openSession(command, { needsKey: true });
  if (asset === undefined) return printAssets(settings);
  const input = {
    asset: usd === undefined ? asset : await codeOf(settings, asset),
    usd: readUsd(usd),
    idempotencyKey: options.idempotencyKey ?? randomUUID(),
  };
  const { createTopUp: created } = await queryGraphql<{ createTopUp: TopUp }>(settings, CREATE, { input });
  if (options.json) return printText(JSON.stringify(created));
  printLines([...invoiceLines(created), ...(process.stdout.isTTY ? qrLines(created.uri) : [])]);
  if (options.wait && process.stderr.isTTY) await wait(settings, created);
  else remark('`gpu topups` shows its progress.');
}

function readUsd(given: string | undefined): number {
  if (given === undefined || !/^\d{1,6}(\.\d{1,6})?$/.test(given)) {
    throw new Failure(EXIT.usage, 'the second argument must be an amount in USD such as 50 or 12.50');
  }
  return Number(given);
}

/** Adds the network to a coin's code, such as `USDT`, if the service accepts the coin on only one network. */
async function codeOf(settings: Settings, asset: string): Promise<string> {
  const wanted = asset.toUpperCase();
  if (wanted !== 'USDT') return wanted;
  const accepted = await assetsOf(settings);
  const matching = accepted.filter(({ code }) => code.startsWith(`${wanted}-`));
  const [only, ...others] = matching;
  if (only !== undefined && others.length === 0) return only.code;
  const names = matching.map(({ code, network }) => `${code} (${network})`).join(', ');
  throw new Failure(
    EXIT.usage,
    names === '' ? `${wanted} is not accepted here` : `asset must name the network: ${names}`,
  );
}

async function assetsOf(settings: Settings) {
  type Answer = { topUpAssets: { code: string; network: string; confirmations: number }[] };
  return (await queryGraphql<Answer>(settings, ASSETS)).topUpAssets;
}

async function printAssets(settings: Settings): Promise<void> {
  const assets = await assetsOf(settings);
  if (assets.length === 0) return printLines(["This service doesn't accept top-ups: it has no payment processor."]);
  const columns: Column<(typeof assets)[number]>[] = [
    text('ASSET', ({ code }) => code, { style: () => 'cyan' }),
    text('NETWORK', ({ network }) => network),
    text('CONFIRMATIONS', ({ confirmations }) => String(confirmations)),
  ];
  printLines(table(assets, columns));
  remark('`gpu topup LTC 50` tops up 50 USD in LTC; the minimum is 5 USD.');
}

function invoiceLines(topUp: TopUp): string[] {
  return card([
    ['Top-up', topUp.id, 'cyan'],
    ['Send exactly', visible(`${topUp.amount} ${topUp.coin}`), 'bold'],
    ['To', visible(topUp.address)],
    ['On', `${topUp.network}, and on no other network`],
    ['For', `${formatUsd(topUp.usd)} USD at ${visible(topUp.rate)} USD per ${topUp.coin}`],
    ['Rate until', readableWithAge(topUp.expiresAt)],
    ['Final after', `${topUp.confirmationsNeeded} confirmations`],
  ]);
}

function qrLines(uri: string): string[] {
  return ['', ...renderUnicodeCompact(uri, { border: 2 }).split('\n'), ''];
}

/**
 * Shows a spinner until the top-up is final or the user presses Ctrl-C, which ends only the wait and doesn't affect the
 * top-up.
 */
async function wait(settings: Settings, created: TopUp): Promise<void> {
  const progress = showProgress('Waiting for the payment; Ctrl-C stops waiting, not the top-up');
  const endsAt = Date.now() + MAX_WAIT_MS;
  try {
    for (let topUp = created; Date.now() < endsAt; ) {
      if (FINAL_STATES.includes(topUp.state)) {
        progress.end();
        return printLines([done(`${formatUsd(topUp.credited)} USD credited (${stateOf(topUp)})`)]);
      }
      progress.show(`${stateOf(topUp)}; Ctrl-C stops waiting, not the top-up`);
      await sleep(POLL_EVERY_MS);
      topUp = (await latest(settings, created.id)) ?? topUp;
    }
  } finally {
    progress.end();
  }
}

/**
 * Returns a top-up's current state, or null while the service is unreachable or busy, because that may be over by the
 * next poll.
 */
async function latest(settings: Settings, id: string): Promise<TopUp | null> {
  try {
    return (await queryGraphql<{ topUp: TopUp }>(settings, ONE, { id })).topUp;
  } catch (error) {
    const isTemporary = error instanceof GpuRefusal && ['rate_limited', 'unavailable'].includes(error.code);
    if (isTemporary || error instanceof GpuConnectionError) return null;
    throw error;
  }
}

function stateOf({ state, confirmations, confirmationsNeeded }: TopUp): string {
  const label = state.toLowerCase();
  return confirmations === null ? label : `${label} (${confirmations} of ${confirmationsNeeded})`;
}

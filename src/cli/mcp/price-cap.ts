import { queryGraphql } from '../graphql.js';
import { formatUsd } from '../table.js';
import { Refused, type Service } from './tool.js';

export const MICRO = 1_000_000;

const BURN = 'query { balance { burnPerHour } }';
const BURN_AND_REQUEST = `query ($key: String!) { balance { burnPerHour } instanceByIdempotencyKey(idempotencyKey: $key) { id } }`;

interface Burn {
  balance: { burnPerHour: number };
  instanceByIdempotencyKey?: { id: string } | null;
}

/** Compares the amounts in micro-USD, where all amounts are whole numbers. */
export function isAbove(usd: number, limit: number): boolean {
  return Math.round(usd * MICRO) > Math.round(limit * MICRO);
}

export function formatRounded(usd: number): string {
  return formatUsd(Math.round(usd * MICRO) / MICRO);
}

/** Throws Refused if the price is above the call's cap. */
export function refuseAbove(cap: number, price: number, done: 'rented' | 'started'): void {
  if (!isAbove(price, cap)) return;
  const cost = `it costs ${formatRounded(price)} USD per hour with its disk`;
  throw new Refused('price_cap', `${cost}, more than maxPricePerHour (${formatUsd(cap)}); nothing was ${done}`);
}

/**
 * Enforces the hourly limit that the MCP server was started with. If an earlier request with the same key has already
 * rented an instance, the account's hourly cost includes it.
 */
export async function refuseBeyondLimit({ settings, maxPerHour }: Service, more: number, key?: string): Promise<void> {
  if (maxPerHour === null) return;
  const { balance, instanceByIdempotencyKey } = await (key === undefined
    ? queryGraphql<Burn>(settings, BURN)
    : queryGraphql<Burn>(settings, BURN_AND_REQUEST, { key }));
  if (instanceByIdempotencyKey == null) refuseBurn(balance.burnPerHour, more, maxPerHour);
}

/**
 * Returns the maximum hourly price of another rental, given the call's cap and the server's limit. Throws Refused if
 * `price` is above it.
 */
export async function roomFor({ settings, maxPerHour }: Service, cap: number, price: number, done: 'rented') {
  refuseAbove(cap, price, done);
  if (maxPerHour === null) return cap;
  const { balance } = await queryGraphql<Burn>(settings, BURN);
  refuseBurn(balance.burnPerHour, price, maxPerHour);
  return Math.min(cap, maxPerHour - balance.burnPerHour);
}

function refuseBurn(burnPerHour: number, more: number, maxPerHour: number): void {
  const total = burnPerHour + more;
  if (!isAbove(total, maxPerHour)) return;
  const would = `the account pays ${formatUsd(burnPerHour)} USD per hour, and would pay ${formatRounded(total)}`;
  throw new Refused('spending_limit', `${would}, more than --max-per-hour (${formatUsd(maxPerHour)})`);
}

import { inTransaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import { idempotentRequest, recall, retryWhileInUse, storeResponse } from '../billing/idempotency.js';
import { write } from '../billing/ledger.js';
import { DomainError } from '../kernel/errors.js';
import { check, checkOptional } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import type { Micro } from '../kernel/money.js';
import { randomId } from '../kernel/random-id.js';
import type { TopUpDeps } from './deps.js';
import { topUpFields } from './fields.js';
import { type PaymentProcessor, ProcessorRefusal, ProcessorUnavailable } from './processor.js';
import { DEFAULT_RATE_SECONDS, MAX_TOP_UP_MICRO, MAX_WAITING, MIN_TOP_UP_MICRO, type TopUp } from './rules/top-up.js';
import { ASSET_CODES, type AssetCode, assetNamed } from './rules/top-up-assets.js';
import type { PaidTopUp } from './top-up-rows.js';
import { insertTopUp } from './top-up-rows.js';
import { countWaiting, findTopUp } from './top-ups.js';

/** Number of random bytes in an id. Unlike instance ids, these must be impossible to guess. */
const ID_BYTES = 10;
const RETRY_AFTER_SECONDS = 10;

export interface TopUpInput {
  asset: string;
  usd: Micro;
  idempotencyKey?: string | null | undefined;
}

export interface CreatedTopUp {
  topUp: PaidTopUp;
  replayed: boolean;
}

/**
 * Opens an invoice with the processor and stores it as a top-up. Holds no lock or transaction while querying the
 * processor. Repeating an idempotency key returns the same top-up in its current state. Throws invalid_request,
 * action_failed (if there is no processor or too many top-ups are waiting) or unavailable (if the processor is down).
 */
export async function createTopUp(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  accountId: string,
  input: TopUpInput,
): Promise<CreatedTopUp> {
  const processor = processorOf(deps);
  const asset = assetOf(check('asset', topUpFields.topUpAsset, input.asset));
  const usdMicro = checkSum(input.usd);
  const key = checkOptional('idempotencyKey', commonFields.idempotencyKey, input.idempotencyKey);
  const request = idempotentRequest(accountId, key, 'createTopUp', [asset, usdMicro]);
  const { pool } = deps.db;
  const recalled =
    request &&
    (await retryWhileInUse(() => inTransaction(pool, (transaction) => recall(transaction, request, deps.clock.now()))));
  if (recalled) return { topUp: await storedTopUp(deps, accountId, (recalled as { id: string }).id), replayed: true };

  const now = deps.clock.now();
  if ((await countWaiting(deps, accountId, now)) >= MAX_WAITING) {
    throw new DomainError(
      'action_failed',
      `the account has ${MAX_WAITING} top-ups waiting for payment, the maximum; pay one or wait until one expires`,
    );
  }
  // The id is always new, because reusing one with another amount would reprice the existing invoice.
  const id = randomId('t', ID_BYTES);
  const { invoice, address, amount, rate, holdsUntil } = await open(processor, { id, asset, usd: usdMicro });
  const made: TopUp = {
    id,
    accountId,
    processor: processor.name,
    asset,
    usdMicro,
    invoice,
    address,
    amount,
    rate,
    createdAt: now,
    expiresAt: holdsUntil !== null && holdsUntil > now ? holdsUntil : now + DEFAULT_RATE_SECONDS,
  };
  // If a concurrent request with the same key came first, its top-up is returned and this invoice is never shown.
  const kept = await retryWhileInUse(() =>
    write(
      deps,
      { accountIds: [accountId] },
      (current) => {
        insertTopUp(current.transaction, made);
        if (request !== null) storeResponse(current.transaction, request, { id }, current.at);
        return { id };
      },
      (transaction) =>
        request === null
          ? Promise.resolve(undefined)
          : (recall(transaction, request, deps.clock.now()) as Promise<{ id: string } | undefined>),
    ),
  );
  return { topUp: await storedTopUp(deps, accountId, kept.id), replayed: kept.id !== id };
}

async function storedTopUp(deps: Pick<LedgerDeps, 'db' | 'clock'>, accountId: string, id: string): Promise<PaidTopUp> {
  return required(await findTopUp(deps, accountId, id), 'top-up that was just stored');
}

/** Returns the assets that are currently accepted. Returns none if no processor is configured. Throws unavailable. */
export async function topUpAssets(deps: Pick<TopUpDeps, 'payments'>): Promise<AssetCode[]> {
  if (deps.payments === null) return [];
  return orUnavailable(deps.payments.assets());
}

function open(processor: PaymentProcessor, request: { id: string; asset: AssetCode; usd: Micro }) {
  return orUnavailable(processor.open(request));
}

/** Converts a processor's errors for the caller. Only the operator sees the processor's own message. */
async function orUnavailable<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ProcessorUnavailable) {
      throw new DomainError('unavailable', 'the payment processor is not responding; try again', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    if (error instanceof ProcessorRefusal) {
      throw new DomainError('invalid_request', 'asset is not currently accepted; see topUpAssets', {
        field: 'asset',
      });
    }
    throw error;
  }
}

function processorOf({ payments }: Pick<TopUpDeps, 'payments'>): PaymentProcessor {
  if (payments !== null) return payments;
  throw new DomainError(
    'action_failed',
    "this service doesn't accept top-ups: its operator has not set up a payment processor",
  );
}

function assetOf(text: string): AssetCode {
  const asset = assetNamed(text);
  if (asset !== null) return asset;
  throw new DomainError('invalid_request', `asset must be one of ${ASSET_CODES.join(', ')}`, { field: 'asset' });
}

function checkSum(usd: Micro): Micro {
  if (usd >= MIN_TOP_UP_MICRO && usd <= MAX_TOP_UP_MICRO) return usd;
  throw new DomainError('invalid_request', 'usd must be between 5 and 100000', { field: 'usd' });
}

import { microOfCoins } from '../domain/kernel/decimal.js';
import { MICRO_PER_USD, type Micro } from '../domain/kernel/money.js';

/**
 * SHKeeper's own fee, which it adds to an amount. SHKeeper reveals its policy (none, percentage, fixed, or the larger
 * of both) only in callbacks, but its quotes include the fee. Two quotes are enough to derive the policy: one for a
 * dollar, where a fixed fee makes up a large share, and one large enough to make the percentage exact.
 */
export interface Fee {
  /** The fee added to `LARGE_USD`. */
  onLarge: Micro;
  /** Fixed fee. Zero if there is none. */
  fixed: Micro;
}

export interface Quote {
  /** Coins (including the fee) and USD per coin, as decimal strings. */
  coins: string;
  rate: string;
}

/** One dollar. `feeOf` relies on this being the unit of the percentage. */
export const SMALL_USD = 1n;
export const LARGE_USD = 1_000_000_000_000n;
/** Rounding step of a quote's coins, which SHKeeper rounds to at least 8 decimals. */
const COIN_STEP = '0.00000001';

/** Returns the fee, or null if one of the quotes is invalid. */
export function feeOf(small: Quote, large: Quote): Fee | null {
  const onSmall = onTop(small, SMALL_USD);
  const onLarge = onTop(large, LARGE_USD);
  if (onSmall === null || onLarge === null) return null;
  const percentage = onLarge / LARGE_USD;
  const inexact = microOfCoins(COIN_STEP, small.rate)! + 1n;
  return { onLarge, fixed: onSmall - percentage > inexact ? onSmall : 0n };
}

function onTop({ coins, rate }: Quote, usd: bigint): Micro | null {
  const worth = microOfCoins(coins, rate);
  if (worth === null) return null;
  const fee = worth - usd * MICRO_PER_USD;
  return fee < 0n ? 0n : fee;
}

/** Returns a payment's value excluding the fee, rounded down. Returns zero if a fixed fee exceeds the payment. */
export function withoutFee(paid: Micro, { onLarge, fixed }: Fee): Micro {
  const large = LARGE_USD * MICRO_PER_USD;
  const withoutPercentage = (paid * large) / (large + onLarge);
  const withoutFixed = paid - fixed;
  const left = withoutFixed < withoutPercentage ? withoutFixed : withoutPercentage;
  return left < 0n ? 0n : left;
}

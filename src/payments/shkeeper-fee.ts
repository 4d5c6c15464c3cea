import { microOfCoins } from '../domain/rules/decimal.js';
import { MICRO_PER_USD, type Micro } from '../domain/rules/money.js';

/**
 * SHKeeper's own fee on top of an amount. SHKeeper names its policy (none, percentage, fixed, or the larger of both)
 * only in callbacks, but a quote includes the fee. Two quotes reveal the policy: one of a dollar, of which a fixed fee
 * is a large part, and one large enough to make the percentage exact.
 */
export interface Fee {
  /** Fee on top of `LARGE_USD`. */
  onLarge: Micro;
  /** Fixed fee; zero without one. */
  fixed: Micro;
}

export interface Quote {
  /** Coins including the fee, and USD per coin, as decimal texts. */
  coins: string;
  rate: string;
}

/** One dollar: `feeOf` relies on it being the unit of the percentage. */
export const SMALL_USD = 1n;
export const LARGE_USD = 1_000_000_000_000n;
/** Rounding step of a quote: SHKeeper rounds coins to 8 decimals or more. */
const COIN_STEP = '0.00000001';

/** Returns the fee, or null if a quote isn't a valid one. */
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

/** Returns a payment's value without the fee, rounded down; zero if a fixed fee exceeds it. */
export function withoutFee(paid: Micro, { onLarge, fixed }: Fee): Micro {
  const large = LARGE_USD * MICRO_PER_USD;
  const withoutPercentage = (paid * large) / (large + onLarge);
  const withoutFixed = paid - fixed;
  const left = withoutFixed < withoutPercentage ? withoutFixed : withoutPercentage;
  return left < 0n ? 0n : left;
}

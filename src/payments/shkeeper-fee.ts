import { microOfCoins } from '../domain/rules/decimal.js';
import { MICRO_PER_USD, type Micro } from '../domain/rules/money.js';

/**
 * The fee that SHKeeper takes on top. It names its policy (none, per cent, fixed, or the larger of both) in callbacks
 * alone; a quote says what an amount costs with it. Two quotes give the policy: of a dollar, of which a fixed fee is a
 * large part, and of so much that the percentage is exact.
 */
export interface Fee {
  /** On top of `LARGE_USD`. */
  onLarge: Micro;
  /** Zero: no fixed fee. */
  fixed: Micro;
}

export interface Quote {
  /** Coins with the fee, and USD per coin, as decimal texts. */
  coins: string;
  rate: string;
}

/** One dollar: `feeOf` takes the percentage of it for that of a dollar. */
export const SMALL_USD = 1n;
export const LARGE_USD = 1_000_000_000_000n;
/** SHKeeper rounds coins to 8 decimals at least, so a quote is that inexact. */
const COIN_STEP = '0.00000001';

/** Null for quotes that are none. */
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

/** What a payment is worth without the fee, rounded down; zero where a fixed fee is more than all of it. */
export function withoutFee(paid: Micro, { onLarge, fixed }: Fee): Micro {
  const large = LARGE_USD * MICRO_PER_USD;
  const withoutPercentage = (paid * large) / (large + onLarge);
  const withoutFixed = paid - fixed;
  const left = withoutFixed < withoutPercentage ? withoutFixed : withoutPercentage;
  return left < 0n ? 0n : left;
}

import { DomainError } from '../../kernel/errors.js';
import type { Micro, Rate } from '../../kernel/money.js';
import { isDay } from '../../kernel/time.js';

/** Maximum number of listings in a snapshot. */
const MAX_LISTINGS = 2_000_000;

/** Thrown if a snapshot isn't newer than the current one. */
export class NotNewer extends DomainError {}

/**
 * Throws invalid_request if the date isn't a calendar day, isn't after `current` (the day of the newest snapshot), or
 * is after `tomorrow`. A later date would block all other sheets until then. Tomorrow is allowed because it has already
 * begun east of UTC.
 */
export function checkNewer(date: string, current: string | null, tomorrow: string): void {
  if (!isDay(date)) throw invalid('date must be a day such as 2026-11-20');
  if (date > tomorrow) throw invalid(`date must be ${tomorrow} or earlier`);
  if (current === null || date > current) return;
  throw new NotNewer('invalid_request', `date must be after ${current}, the date of the current snapshot; got ${date}`);
}

/** Throws invalid_request if a snapshot contains no listings of known models or more than MAX_LISTINGS. */
export function checkListings(listings: number): void {
  if (listings > MAX_LISTINGS) throw invalid(`a market file may have at most ${MAX_LISTINGS} listings`);
  if (listings === 0) throw invalid('the file has no listings for known models');
}

/** Whether most rows can't be read. Such a file is damaged or in a different format, so its prices can't be used. */
export function isMostlyUnreadable({ listings, rejectedCount }: { listings: number; rejectedCount: number }): boolean {
  return rejectedCount > listings;
}

/** A model's price before and after a snapshot. */
export interface PriceMove {
  gpu: string;
  /** Null if the model's price was never published. */
  oldRate: Rate | null;
  newRate: Rate;
}

/**
 * Returns the price change as a whole percentage of the old price, rounded towards zero. Returns 0 if the model's price
 * was never published.
 */
export function percentOf({ oldRate, newRate }: Omit<PriceMove, 'gpu'>): bigint {
  return oldRate === null ? 0n : ((newRate - oldRate) * 100n) / oldRate;
}

/** Throws invalid_request if any price moves up or down by more than `maxPercent`. Null means no limit. */
export function checkJumps(moves: readonly PriceMove[], maxPercent: number | null): void {
  const jumps = moves.filter((move) => maxPercent !== null && isJump(move, BigInt(maxPercent)));
  if (jumps.length === 0) return;
  const list = jumps.map((move) => `${move.gpu} ${percentOf(move)}%`).join(', ');
  throw invalid(`prices would move by more than ${maxPercent}%: ${list}`);
}

/**
 * Throws invalid_request if more than `maxPercent` of the models lose their median in a snapshot, for example because
 * the source has shrunk. Null means no limit.
 */
export function checkLosses(
  models: readonly { gpu: string; oldMedianMicro: Micro | null; medianMicro: Micro | null }[],
  maxPercent: number | null,
): void {
  const known = models.filter(({ oldMedianMicro }) => oldMedianMicro !== null);
  const lost = known.filter(({ medianMicro }) => medianMicro === null);
  if (maxPercent === null || lost.length * 100 <= known.length * maxPercent) return;
  throw invalid(`more than ${maxPercent}% of the models would lose their median: ${lost.length} of ${known.length}`);
}

function isJump({ oldRate, newRate }: PriceMove, maxPercent: bigint): boolean {
  if (oldRate === null) return false;
  const moved = newRate > oldRate ? newRate - oldRate : oldRate - newRate;
  return moved * 100n > oldRate * maxPercent;
}

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message);
}

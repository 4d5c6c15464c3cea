import { DomainError } from './errors.js';
import type { Micro, Rate } from './money.js';
import { isDay } from './time.js';

/** Maximum listings of one snapshot. */
const MAX_LISTINGS = 2_000_000;

/** Refuses a snapshot that is not newer than the current one. */
export class NotNewer extends DomainError {}

/**
 * Refuses with invalid_request a date that is not a day, one after `tomorrow`, which would block every sheet until
 * then, and one not after `current`, the day of the newest snapshot. Tomorrow has already begun east of UTC.
 */
export function checkNewer(date: string, current: string | null, tomorrow: string): void {
  if (!isDay(date)) throw invalid('date must be a day such as 2026-11-20');
  if (date > tomorrow) throw invalid(`date must be ${tomorrow} or earlier`);
  if (current === null || date > current) return;
  throw new NotNewer('invalid_request', `date must be after ${current}, the date of the current snapshot; got ${date}`);
}

/** Refuses with invalid_request a snapshot without listings of known models, or with more than MAX_LISTINGS. */
export function checkListings(listings: number): void {
  if (listings > MAX_LISTINGS) throw invalid(`a market file may have at most ${MAX_LISTINGS} listings`);
  if (listings === 0) throw invalid('the file has no listing of a known model');
}

/** Whether most rows can't be read: such a file is damaged or of another kind, and no source of prices. */
export function isMostlyUnreadable({ listings, rejectedCount }: { listings: number; rejectedCount: number }): boolean {
  return rejectedCount > listings;
}

/** The price of one model before and after a snapshot. */
export interface PriceMove {
  gpu: string;
  /** Null for a model that was never published. */
  oldRate: Rate | null;
  newRate: Rate;
}

/**
 * Returns how far a price moves, in whole percent of the old one, rounded towards zero; 0 for a model that was never
 * published.
 */
export function percentOf({ oldRate, newRate }: Omit<PriceMove, 'gpu'>): bigint {
  return oldRate === null ? 0n : ((newRate - oldRate) * 100n) / oldRate;
}

/** Refuses with invalid_request prices that move by more than `maxPercent`, up or down; null: no limit. */
export function checkJumps(moves: readonly PriceMove[], maxPercent: number | null): void {
  const jumps = moves.filter((move) => maxPercent !== null && isJump(move, BigInt(maxPercent)));
  if (jumps.length === 0) return;
  const list = jumps.map((move) => `${move.gpu} ${percentOf(move)} %`).join(', ');
  throw invalid(`prices would move by more than ${maxPercent} %: ${list}`);
}

/**
 * Refuses with invalid_request a snapshot in which more than `maxPercent` of the models lose their median, for example
 * because the source has shrunk; null: no limit.
 */
export function checkLosses(
  models: readonly { gpu: string; oldMedianMicro: Micro | null; medianMicro: Micro | null }[],
  maxPercent: number | null,
): void {
  const known = models.filter(({ oldMedianMicro }) => oldMedianMicro !== null);
  const lost = known.filter(({ medianMicro }) => medianMicro === null);
  if (maxPercent === null || lost.length * 100 <= known.length * maxPercent) return;
  throw invalid(`more than ${maxPercent} % of the models would lose their median: ${lost.length} of ${known.length}`);
}

function isJump({ oldRate, newRate }: PriceMove, maxPercent: bigint): boolean {
  if (oldRate === null) return false;
  const moved = newRate > oldRate ? newRate - oldRate : oldRate - newRate;
  return moved * 100n > oldRate * maxPercent;
}

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message);
}

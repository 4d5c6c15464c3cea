import type { Rate } from '../../kernel/money.js';
import type { ModeRates } from '../../kernel/price-rule.js';
import type { GroupTraits, OfferedMachine } from './offer.js';

/** The on-demand prices by which groups of offers are sorted. */
export interface GroupPrice {
  pricePerGpu: Rate;
  pricePerHour: Pick<ModeRates, 'onDemand'>;
}

/** The fields by which offers within a group are sorted. */
export type Ranked = Pick<OfferedMachine, 'reliability' | 'machineId'>;

/** An offer's position in any order by price and reliability, whether or not the offer still exists. */
export interface OfferPosition extends GroupPrice, Ranked {}

/**
 * A sort order for offers. They are sorted by group (`first`), then by descending reliability, then by group again
 * (`thenBy`), and finally by machine id. If `first` puts one group before another, all offers in the former precede all
 * offers in the latter.
 */
export interface OfferOrder<Group extends GroupPrice = GroupTraits> {
  first: (one: Group, other: Group) => number;
  thenBy: (one: Group, other: Group) => number;
}

const asEqual = () => 0;
/** Sorts the cheapest machine first. */
export const BY_PRICE: OfferOrder<GroupPrice> = { first: comparePrices, thenBy: asEqual };
/** Sorts the cheapest GPU first. Ties are broken as in `BY_PRICE`. */
export const BY_PRICE_PER_GPU: OfferOrder<GroupPrice> = {
  first: (one, other) => compare(one.pricePerGpu, other.pricePerGpu) || comparePrices(one, other),
  thenBy: asEqual,
};
/** Sorts the most reliable machine first. Ties are broken as in `BY_PRICE`. */
export const BY_RELIABILITY: OfferOrder<GroupPrice> = { first: asEqual, thenBy: comparePrices };

/** Compares two offers, given with their groups' traits. */
export function compareOffers(order: OfferOrder, one: Ranked & GroupTraits, other: Ranked & GroupTraits): number {
  return order.first(one, other) || compareRanked(one, other, order.thenBy(one, other));
}

/**
 * Compares two offers. `byGroup` is how their groups compare if their reliability is equal. Within a group, it is 0.
 */
export function compareRanked(one: Ranked, other: Ranked, byGroup = 0): number {
  return other.reliability - one.reliability || byGroup || compare(one.machineId, other.machineId);
}

function comparePrices(one: GroupPrice, other: GroupPrice): number {
  return compare(one.pricePerHour.onDemand, other.pricePerHour.onDemand);
}

/**
 * Compares strings by code unit. For the characters used in ids, this is the same order as in the database's C
 * collation.
 */
function compare<T extends bigint | string>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

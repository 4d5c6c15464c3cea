import type { Rate } from './money.js';
import type { GroupTraits, OfferedMachine } from './offer.js';
import type { ModeRates } from './price-rule.js';

/** On-demand prices by which groups of offers are ordered. */
export interface GroupPrice {
  pricePerGpu: Rate;
  pricePerHour: Pick<ModeRates, 'onDemand'>;
}

/** Fields that order the offers of a group. */
export type Ranked = Pick<OfferedMachine, 'reliability' | 'machineId'>;

/** Position of an offer in every order by price and reliability, whether or not it still exists. */
export interface OfferPosition extends GroupPrice, Ranked {}

/**
 * An order of offers: by group (`first`), then more reliable first, then again by group (`thenBy`), then by machine id.
 * All offers of a group come before those of one that `first` puts after it.
 */
export interface OfferOrder<Group extends GroupPrice = GroupTraits> {
  first: (one: Group, other: Group) => number;
  thenBy: (one: Group, other: Group) => number;
}

const asEqual = () => 0;
/** Cheapest machine first. */
export const BY_PRICE: OfferOrder<GroupPrice> = { first: comparePrices, thenBy: asEqual };
/** Cheapest GPU first, then as `BY_PRICE`. */
export const BY_PRICE_PER_GPU: OfferOrder<GroupPrice> = {
  first: (one, other) => compare(one.pricePerGpu, other.pricePerGpu) || comparePrices(one, other),
  thenBy: asEqual,
};
/** Most reliable first, then as `BY_PRICE`. */
export const BY_RELIABILITY: OfferOrder<GroupPrice> = { first: asEqual, thenBy: comparePrices };

/** Compares offers with the traits of their groups. */
export function compareOffers(order: OfferOrder, one: Ranked & GroupTraits, other: Ranked & GroupTraits): number {
  return order.first(one, other) || compareRanked(one, other, order.thenBy(one, other));
}

/** Compares offers. `byGroup` is how their groups compare at equal reliability; 0 within one group. */
export function compareRanked(one: Ranked, other: Ranked, byGroup = 0): number {
  return other.reliability - one.reliability || byGroup || compare(one.machineId, other.machineId);
}

function comparePrices(one: GroupPrice, other: GroupPrice): number {
  return compare(one.pricePerHour.onDemand, other.pricePerHour.onDemand);
}

/** Compares texts by code unit, as the database's collation C does for the characters of ids. */
function compare<T extends bigint | string>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

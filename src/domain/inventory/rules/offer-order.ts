import type { Rate } from '../../kernel/money.js';
import type { ModeRates } from '../../kernel/price-rule.js';
import type { GroupTraits, OfferedMachine } from './offer.js';

/** The on-demand prices that groups of offers are sorted by. */
export interface GroupPrice {
  pricePerGpu: Rate;
  pricePerHour: Pick<ModeRates, 'onDemand'>;
}

/** The fields that the offers within a group are sorted by. */
export type Ranked = Pick<OfferedMachine, 'reliability' | 'machineId'>;

/** The position of an offer in every order by price and reliability, whether or not the offer still exists. */
export interface OfferPosition extends GroupPrice, Ranked {}

/**
 * An order of offers. They are sorted by group (`first`), then by descending reliability, then again by group
 * (`thenBy`), and finally by machine id. If `first` puts one group before another, all its offers come before those of
 * the other.
 */
export interface OfferOrder<Group extends GroupPrice = GroupTraits> {
  first: (one: Group, other: Group) => number;
  thenBy: (one: Group, other: Group) => number;
}

const asEqual = () => 0;
/** Puts the cheapest machine first. */
export const BY_PRICE: OfferOrder<GroupPrice> = { first: comparePrices, thenBy: asEqual };
/** Puts the cheapest GPU first, and otherwise sorts like `BY_PRICE`. */
export const BY_PRICE_PER_GPU: OfferOrder<GroupPrice> = {
  first: (one, other) => compare(one.pricePerGpu, other.pricePerGpu) || comparePrices(one, other),
  thenBy: asEqual,
};
/** Puts the most reliable machine first, and otherwise sorts like `BY_PRICE`. */
export const BY_RELIABILITY: OfferOrder<GroupPrice> = { first: asEqual, thenBy: comparePrices };

/** Compares offers, given with the traits of their groups. */
export function compareOffers(order: OfferOrder, one: Ranked & GroupTraits, other: Ranked & GroupTraits): number {
  return order.first(one, other) || compareRanked(one, other, order.thenBy(one, other));
}

/** Compares offers. `byGroup` is how their groups compare if the reliability is equal. Within a group it is 0. */
export function compareRanked(one: Ranked, other: Ranked, byGroup = 0): number {
  return other.reliability - one.reliability || byGroup || compare(one.machineId, other.machineId);
}

function comparePrices(one: GroupPrice, other: GroupPrice): number {
  return compare(one.pricePerHour.onDemand, other.pricePerHour.onDemand);
}

/**
 * Compares strings by code unit, which for the characters in ids is the same order as in the database's collation C.
 */
function compare<T extends bigint | string>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

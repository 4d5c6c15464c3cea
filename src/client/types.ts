import type { components, operations } from './openapi.js';

type Answer<Name extends keyof operations, Status extends number> =
  operations[Name]['responses'] extends Record<Status, { content: { 'application/json': infer Body } }> ? Body : never;
type RequestBody<Name extends 'deployInstance' | 'actOnInstance'> =
  operations[Name]['requestBody']['content']['application/json'];

export type PriceSheet = Answer<'getPricing', 200>;
export type GpuPricing = PriceSheet['data'][number];
export type OfferFilter = NonNullable<operations['listOffers']['parameters']['query']>;
export type OfferList = Answer<'listOffers', 200>;
export type Offer = OfferList['data'][number];
export type Balance = Answer<'getBalance', 200>;
export type InstanceList = Answer<'listInstances', 200>;
export type Instance = Answer<'getInstance', 200>;
export type DeployRequest = RequestBody<'deployInstance'>;
export type InstanceAction = RequestBody<'actOnInstance'>['action'];
export type Destroyed = Answer<'destroyInstance', 200>;

/** The codes of the service's refusals. */
export type RefusalCode = components['schemas']['Error']['error']['code'];

import { PriceTrends } from '../graph/documents.js';
import { marketSnapshot } from './market.js';
import { useRead } from './read.js';

/** Each model's recent prices on demand, oldest first. */
export type Trends = ReadonlyMap<string, readonly number[]>;

/** Reads the models' recent prices, once the price sheet is known. Empty until then. */
export function useTrends(): Trends {
  const trends = useRead(PriceTrends, marketSnapshot.value === null ? null : {}, marketSnapshot).data.value?.pricing
    .trends;
  return new Map(trends?.map(({ gpu, onDemand }) => [gpu, onDemand]));
}

import { PriceTrends } from '../graph/documents.js';
import { marketSnapshot } from './market.js';
import { useRead } from './read.js';

/** Each model's recent prices on demand, oldest first. */
export type Trends = ReadonlyMap<string, readonly number[]>;

/** Reads the models' recent prices. Empty until they are known. */
export function useTrends(): Trends {
  const trends = useRead(PriceTrends, {}, marketSnapshot).data.value?.pricing.trends;
  return new Map(trends?.map(({ gpu, onDemand }) => [gpu, onDemand]));
}

import { number } from '../../figures/number.js';
import type { texts as english } from '../en/map.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  free: (region, gpus) => `${region}: ${plural(gpus, { one: '1 GPU', other: `${number(gpus)} GPUs` })} frei`,
};

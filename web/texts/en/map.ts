import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  free: (region: string, gpus: number) =>
    `${region}: ${plural(gpus, { one: '1 GPU', other: `${number(gpus)} GPUs` })} free`,
};

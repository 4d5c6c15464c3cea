import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

/** A formatted price, with the date of its snapshot. */
interface Priced {
  price: string;
  date: string;
}

const listings = (count: number) => plural(count, { one: '1 listing', other: `${number(count)} listings` });

export const texts = {
  first: (model: string, { price, date }: Priced, count: number) =>
    `${model}: ${price} USD per GPU-hour on demand as of ${date}, from ${listings(count)} (first snapshot).`,
  since: (model: string, { price, date }: Priced, count: number, first: Priced, snapshots: number) =>
    `${model}: ${price} USD per GPU-hour on demand as of ${date}, from ${listings(count)}. First of ${snapshots} snapshots: ${first.price} on ${first.date}.`,
  point: ({ price, date }: Priced, count: number) => `${date}: ${price} from ${listings(count)}`,
};

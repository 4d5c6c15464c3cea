import { number } from '../../figures/number.js';
import type { texts as english } from '../en/charts.js';
import { plural } from '../plural.js';

const listings = (count: number) => plural(count, { one: 'einem Angebot', other: `${number(count)} Angeboten` });

export const texts: typeof english = {
  first: (model, { price, date }, count) =>
    `${model}: ${price} USD pro GPU-Stunde (On-Demand) am ${date}, aus ${listings(count)} (erster Stand).`,
  since: (model, { price, date }, count, first, snapshots) =>
    `${model}: ${price} USD pro GPU-Stunde (On-Demand) am ${date}, aus ${listings(count)}. Erster von ${snapshots} Ständen: ${first.price} am ${first.date}.`,
  point: ({ price, date }, count) => `${date}: ${price} aus ${listings(count)}`,
};

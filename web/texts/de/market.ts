import type { texts as english } from '../en/market.js';

export const texts: typeof english = {
  today: 'Marktpreise von heute',
  yesterday: 'Marktpreise von gestern',
  of: (date) => `Marktpreise vom ${date}`,
};

import type { texts as english } from '../en/money.js';

export const texts: typeof english = {
  reading: 'Ihr Guthaben wird geladen …',
  asOf: (time) => `Stand: ${time} Uhr`,
};

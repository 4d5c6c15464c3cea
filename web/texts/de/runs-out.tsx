import type { texts as english } from '../en/runs-out.js';

export const texts: typeof english = {
  nothingCosts: 'zurzeit keine Kosten',
  lastsForYears: 'reicht noch Jahre',
  ranOut: 'aufgebraucht',
  runsOut: (at) => <>reicht bis {at}</>,
};

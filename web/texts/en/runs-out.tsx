import type { ComponentChildren } from 'preact';

export const texts = {
  nothingCosts: 'no current cost',
  lastsForYears: 'lasts for years',
  ranOut: 'ran out',
  runsOut: (at: ComponentChildren) => <>runs out {at}</>,
};

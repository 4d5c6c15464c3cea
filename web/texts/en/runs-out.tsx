import type { ComponentChildren } from 'preact';

export const texts = {
  nothingCosts: 'nothing costs now',
  lastsForYears: 'lasts for years',
  ranOut: 'ran out',
  runsOut: (at: ComponentChildren) => <>runs out {at}</>,
};

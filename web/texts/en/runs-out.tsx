import type { ComponentChildren } from 'preact';

export const texts = {
  nothingCosts: 'no current cost',
  lastsForYears: 'lasts for years',
  ranOut: 'ran out',
  runsOut: (at: ComponentChildren, isDate: boolean) => (
    <>
      runs out {isDate && 'on '}
      {at}
    </>
  ),
};

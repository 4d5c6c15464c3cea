import { exact, loneRate, type Micro, rate, sum, usd } from '../figures/money.js';

interface Props {
  of: Micro;
  /** The amount in whole cents, if it is rounded so that a column adds up. */
  shown?: Micro | undefined;
  /** The unit to show. Omitted in columns whose heading names it. */
  unit?: 'USD' | 'USD/h';
  /** Whether an increase has a plus sign. */
  isSigned?: boolean;
}

/** Shows a sum, or a rate that isn't compared with others. The exact amount appears on hover. */
export const Amount = ({ of: amount, shown, unit, isSigned = false }: Props) => (
  <span class="figure" title={`${exact(amount)} ${unit ?? 'USD'}`}>
    {isSigned && (shown ?? amount) > 0n && '+'}
    {unit === 'USD/h' ? loneRate(amount) : shown === undefined ? sum(amount) : usd(shown)}
    {unit !== undefined && (
      <>
        {' '}
        <span class="unit">{unit}</span>
      </>
    )}
  </span>
);

/** Shows a rate in a list whose heading names the unit. The exact rate appears on hover. */
export const Rate = ({ of: amount }: { of: Micro }) => (
  <span class="figure" title={`${exact(amount)} USD/h`}>
    {rate(amount)}
  </span>
);

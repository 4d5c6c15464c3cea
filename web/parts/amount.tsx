import { exact, type Micro, rate, sum, usd } from '../figures/money.js';

interface Props {
  of: Micro;
  /** The unit to show. Omitted in columns whose heading names it. */
  unit?: 'USD' | 'USD/h';
  /** The number of decimals, so that the figures of a column align. */
  decimals?: number;
}

/**
 * Shows an amount: a sum with two decimals, or a rate with as many as it needs. The exact amount appears on hover.
 */
export const Amount = ({ of: amount, unit, decimals }: Props) => (
  <span class="figure" title={`${exact(amount)} ${unit ?? 'USD'}`}>
    {decimals !== undefined ? usd(amount, decimals) : unit === 'USD/h' ? rate(amount) : sum(amount)}
    {unit !== undefined && (
      <>
        {' '}
        <span class="unit">{unit}</span>
      </>
    )}
  </span>
);

import { usd } from '../figures/money.js';
import { costNow, type Instance } from '../state/account.js';
import { regionName } from '../state/market.js';
import { texts } from '../texts/en/instances.js';

/**
 * Shows the cells of an instance's row for its location, hourly cost (formatted by `rates` for all rows) and cost so
 * far.
 */
export function PlaceAndCost({ instance, hourly }: { instance: Instance; hourly: string | undefined }) {
  return (
    <>
      <td data-label={texts.columns.where}>{regionName(instance.region)}</td>
      <td class="number" data-label={texts.columns.rate}>
        {hourly}
      </td>
      <td class="number" data-label={texts.columns.cost}>
        {usd(costNow(instance), 4)}
      </td>
    </>
  );
}

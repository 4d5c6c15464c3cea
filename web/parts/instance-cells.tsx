import { computed, untracked, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { isNamed, titleOf } from '../figures/instance-title.js';
import { CENT } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { costNow, type Instance, rateOf } from '../state/account.js';
import { modelName } from '../state/market.js';
import { Amount, Rate } from './amount.js';
import { ModelName } from './model-name.js';
import { Status } from './status.js';

interface MainCellsProps {
  instance: Instance;
  since?: ComponentChildren;
  children?: ComponentChildren;
}

/**
 * The cells that all lists of instances share: name, status and GPUs. `children` follow the name, and `since` follows the
 * status. An instance without a name is shown by what it runs, with its id next to it.
 */
export function MainCells({ instance, since, children }: MainCellsProps) {
  const { id, name, numGpus, gpu, template } = instance;
  const idText = <span class="mono quiet">{id}</span>;
  return (
    <>
      <th scope="row" class="i-name">
        <span class="name-line">
          <a
            href={`/instances/${id}`}
            class="id"
            title={isNamed(instance) ? visible(name) : `${visible(template)}, ${id}`}
          >
            {visible(titleOf(instance))} {!isNamed(instance) && idText}
          </a>
          {isNamed(instance) && idText}
          {children}
        </span>
      </th>
      <td class="i-status">
        <Status instance={instance} />
        {since}
      </td>
      <td class="i-gpus" title={`${modelName(gpu)}, ${visible(template)}`}>
        {numGpus} × <ModelName name={modelName(gpu)} />
      </td>
    </>
  );
}

/** The cell with the current hourly cost. */
export const RateCell = ({ instance }: { instance: Instance }) => (
  <td class="i-rate number" data-unit="USD/h">
    <Rate of={rateOf(instance)} />
  </td>
);

/** The cell with the cost so far. It is drawn again once per cent, and on hover so that the exact amount is current. */
export function CostCell({ instance }: { instance: Instance }) {
  const hovers = useSignal(0);
  const cents = useMemo(() => computed(() => costNow(instance) / CENT), [instance]);
  void [hovers.value, cents.value];
  return (
    <td
      class="i-cost number"
      data-unit="USD"
      onMouseEnter={() => {
        hovers.value += 1;
      }}
    >
      <Amount of={untracked(() => costNow(instance))} />
    </td>
  );
}

import type { Instance } from '../state/account.js';
import { modelName } from '../state/market.js';
import { LabelList } from './labels.js';

/** The table cell with the instance's name, which links to its screen. */
export function InstanceName({ instance: { id, name, labels, numGpus, gpu, template } }: { instance: Instance }) {
  return (
    <th scope="row" class="wide">
      <a href={`/instances/${id}`} class="mono">
        {name}
      </a>
      <br />
      {numGpus} × {modelName(gpu)}{' '}
      <span class="quiet small">
        {name !== id && `${id} · `}
        {template}
      </span>
      <LabelList labels={labels} />
    </th>
  );
}

import type { Instance } from '../state/account.js';
import { modelName } from '../state/market.js';

/** The cell that names the instance of a row, and leads to its screen. */
export function InstanceName({ instance: { id, numGpus, gpu, template } }: { instance: Instance }) {
  return (
    <th scope="row" class="wide">
      <a href={`/instances/${id}`} class="mono">
        {id}
      </a>
      <br />
      {numGpus} × {modelName(gpu)} <span class="quiet small">{template}</span>
    </th>
  );
}

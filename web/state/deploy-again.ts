import type { ResultOf } from 'gql.tada';
import { requirementsOf } from '../figures/labels.js';
import { OneInstance } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { draft } from './launch-draft.js';
import { EMPTY, formOf } from './launch-form.js';
import { go, withParameters } from './location.js';
import { plainMessageOf } from './messages.js';
import { say } from './toasts.js';

/** Opens the Deploy page filled in with an instance's workload, as its renter requested it. */
export async function deployAgain(id: string): Promise<void> {
  try {
    const { instance } = await send(OneInstance, { id });
    if (instance !== null) fillIn(instance);
  } catch (fault) {
    say(plainMessageOf(fault), { isBad: true });
  }
}

function fillIn(instance: NonNullable<ResultOf<typeof OneInstance>['instance']>): void {
  const { template, diskGb, gpu, numGpus, labels, launch, volumes } = instance;
  const parameters = new URLSearchParams({ template, 'deploy-disk': String(diskGb), gpu, gpus: String(numGpus) });
  const requirements = requirementsOf(labels);
  if (requirements.length > 0) parameters.set('labels', requirements.join(', '));
  const rows = volumes.map((volume) => ({ id: volume.id, path: volume.path }));
  draft.value = { ...(launch === null ? EMPTY : formOf(launch)), volumes: rows };
  go(withParameters('/deploy', parameters));
}

import { authorization } from '../cases/accounts.mjs';
import { requestBytes } from './load.mjs';

const DISK_GB = 50;
const PAIR = ['destroy'];
const WHOLE_LIFE = ['stop', 'start', 'destroy'];

/**
 * A client for `runLoad` that deploys on a machine of its own, takes the steps and starts again; when time is up it completes
 * the steps. `heard(step, latencyMs)` is called for every answer; `launch` is what the body holds beside machine and disk.
 */
export function rentalClient({ account, machineId }, { steps = WHOLE_LIFE, heard = () => {}, launch = {} } = {}) {
  const headers = authorization(account);
  const body = JSON.stringify({ machine_id: machineId, disk_gb: DISK_GB, ...launch });
  const deploy = requestBytes({ method: 'POST', path: '/v1/instances', headers, body });
  let left = [];
  let path;
  let last = null;
  const next = (isOver, answer) => {
    if (last !== null) heard(last, answer.latencyMs);
    if (answer?.status === 201) {
      path = `/v1/instances/${JSON.parse(answer.body).id}`;
      left = [...steps];
    }
    last = left.shift() ?? (isOver ? null : 'deploy');
    if (last === null) return null;
    if (last === 'deploy') return deploy;
    if (last === 'destroy') return requestBytes({ method: 'DELETE', path, headers });
    return requestBytes({ method: 'POST', path: `${path}/actions`, headers, body: JSON.stringify({ action: last }) });
  };
  return { wantsBody: true, next };
}

/** Deploys and destroys, with nothing in between. */
export function pairClient(rental, launch = {}) {
  return rentalClient(rental, { steps: PAIR, launch });
}

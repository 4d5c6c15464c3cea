import { authorization } from '../cases/accounts.mjs';
import { requestBytes } from './load.mjs';

const DISK_GB = 50;
const PAIR = ['destroy'];
const WHOLE_LIFE = ['stop', 'start', 'destroy'];

/**
 * Returns a client for `runLoad` that repeatedly deploys on its own machine and then performs `steps`. When the time is
 * up, it completes the remaining steps. `onResponse(step, latencyMs)` is called for every response. `launch` is added
 * to the machine and disk in the request body.
 */
export function rentalClient({ account, machineId }, { steps = WHOLE_LIFE, onResponse = () => {}, launch = {} } = {}) {
  const headers = authorization(account);
  const body = JSON.stringify({ machine_id: machineId, disk_gb: DISK_GB, ...launch });
  const deploy = requestBytes({ method: 'POST', path: '/v1/instances', headers, body });
  let left = [];
  let path;
  let last = null;
  const next = (isOver, answer) => {
    if (last !== null) onResponse(last, answer.latencyMs);
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

/** Returns a client that only deploys and destroys. */
export function pairClient(rental, launch = {}) {
  return rentalClient(rental, { steps: PAIR, launch });
}

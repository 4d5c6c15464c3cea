import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { Launch } from '../kernel/launch.js';
import { tokensOf } from '../secrets/generated-tokens.js';
import { type SecretsOfStart, secretsOfStart } from '../secrets/secrets.js';

/**
 * Returns a start's secrets to its machine's agent. Throws not_found unless this is the current start of an instance
 * running on this machine. Throws action_failed if a secret is missing.
 */
export async function secretsForAgent(
  deps: Pick<KernelDeps, 'db' | 'sealingKeys'>,
  machineId: string,
  instanceId: string,
  start: number,
): Promise<SecretsOfStart> {
  const { rows } = await deps.db.pool.query<{ accountId: string; launch: Launch | null; image: string }>({
    name: 'launch-of-start',
    text: `select account_id as "accountId", launch, image
           from container join instance on instance.id = container.instance_id
             left join instance_launch on instance_launch.instance_id = instance.id
           where instance.id = $1 and container.machine_id = $2 and status = 'RUNNING' and gpu_intervals = $3`,
    values: [instanceId, machineId, start],
  });
  const [found] = rows;
  if (found === undefined) throw new DomainError('not_found', 'no such start');
  const secrets = await secretsOfStart(deps, found.accountId, found.launch ?? {}, found.image);
  return { ...secrets, variables: { ...secrets.variables, ...(await tokensOf(deps, found.accountId, instanceId)) } };
}

import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { destroy, stop } from '../kernel/lifecycle.js';

/** Maximum number of instances ended per pass. Any others are left for the next pass. */
const MAX_ENDED_PER_PASS = 100;

/** A start whose command has ended, with the exit action specified by its launch. */
interface EndedCommand {
  id: string;
  accountId: string;
  start: number;
  action: 'STOP' | 'DESTROY';
}

/** Stops or destroys running instances whose command has ended permanently, if requested by their launch. */
export async function endInstances(deps: LedgerDeps): Promise<void> {
  const { rows } = await deps.db.pool.query<EndedCommand>({
    name: 'ended-commands',
    text: ENDED_COMMANDS,
    values: [MAX_ENDED_PER_PASS],
  });
  for (const ended of rows) await end(deps, ended);
}

/** Ends the instance. Has no effect if the given start is already over. */
async function end(deps: LedgerDeps, { id, accountId, start, action }: EndedCommand): Promise<void> {
  await write(deps, { accountIds: [accountId], instanceId: id }, (current) => {
    const instance = current.instance(id);
    if (instance?.status !== 'RUNNING' || instance.gpuIntervals !== start) return;
    const step = current.step(current.lockedAccount(accountId));
    if (action === 'STOP') stop(step, instance, 'COMMAND_ENDED');
    else destroy(step, instance, 'COMMAND_ENDED');
  });
}

const ENDED_COMMANDS = `
  select instance.id, account_id as "accountId", gpu_intervals as start, launch ->> 'onExit' as action
  from container join instance on instance.id = container.instance_id
    join instance_launch on instance_launch.instance_id = instance.id
  where container.phase = 'EXITED' and container.start = gpu_intervals and instance.status = 'RUNNING'
    and launch ->> 'onExit' in ('STOP', 'DESTROY')
  order by instance.id limit $1`;

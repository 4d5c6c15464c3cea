import { required } from '../../std/required.js';
import type { SettlingDeps } from '../billing/deps.js';
import { settledWithLimits } from '../billing/settlement.js';
import { checkCover, coverNeeded } from '../kernel/cover.js';
import { checkGrownVolumes } from '../kernel/disk.js';
import { type Refused, refusalOf, refusedBy } from '../kernel/errors.js';
import { claim } from '../kernel/free-machine.js';
import type { Instance } from '../kernel/lifecycle.js';
import { type Micro, shownCost } from '../kernel/money.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../kernel/preemption.js';
import { type Instant, latest } from '../kernel/time.js';
import { attachedTo, sizeOfVolumes } from '../volumes/attachments.js';
import { checkVolumes } from '../volumes/leases.js';
import { checkSupportsVolumes } from '../volumes/rules/volume-attachment.js';
import type { InstanceDeps } from './deps.js';
import { fromRow, type InstanceRow } from './instance-row.js';
import { checkStartLimits } from './instances.js';
import { checkLaunchOfStart } from './launch.js';
import { machineForPreview } from './machine-for-preview.js';

/** Whether a stopped instance can be started, and on what terms. This is the decision that `start` would make now. */
export interface StartCheck {
  /** Null if the instance can be started. */
  refusal: Refused | null;
  preempts: boolean;
  /** Minimum GPU time billed for the start, in seconds. */
  minimumGpuSeconds: bigint;
  /** Balance required for the start. */
  coverNeeded: Micro;
  asOf: Instant;
}

/** Previews a start. Returns null if the instance isn't stopped. */
export async function startCheck(
  deps: SettlingDeps & Pick<InstanceDeps, 'machineLoader' | 'fleet'>,
  row: InstanceRow,
  keyId: string | null,
): Promise<StartCheck | null> {
  const instance = fromRow(row);
  if (instance.status !== 'STOPPED') return null;
  const account = await settledWithLimits(deps, instance.accountId);
  const machine = required(await machineForPreview(deps, instance.machineId), 'machine of an instance');
  const asOf = latest(deps.clock.now(), account.settledAt);
  const { coverSeconds } = deps.settings;
  let preempted: readonly Instance[] = [];
  const volumes = await attachedTo(deps.db.pool, instance);
  const volumeGb = await sizeOfVolumes(deps, account.id, volumes);
  const lacking =
    (await refusalOf(checkLaunchOfStart(deps.db.pool, machine, instance))) ??
    (await refusalOf(checkVolumes(deps, { accountId: account.id, volumes }, 'action_failed')));
  const refusal = refusedBy(() => {
    preempted = claim(machine, instance.mode, 'action_failed');
    if (lacking !== null) throw lacking;
    if (volumes.length > 0) checkSupportsVolumes(machine, 'action_failed');
    checkGrownVolumes(machine, instance, volumeGb);
    checkCover(account, asOf, { addedRate: instance.gpuRate, preempted, coverSeconds }, 'action_failed');
    checkStartLimits(account, instance, asOf, { keyId, preempted });
  });
  return {
    refusal,
    preempts: preempted.length > 0,
    minimumGpuSeconds: preempted.length === 0 ? 0n : PREEMPTION_MINIMUM_SECONDS,
    coverNeeded: shownCost(coverNeeded(account, { addedRate: instance.gpuRate, preempted, coverSeconds })),
    asOf,
  };
}

import { settledAccount } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import { runningOf } from '../rules/free-machine.js';
import { isDue } from '../rules/lifecycle.js';
import type { MachineAsRead } from './machine-loader.js';

/** The machine, read after the account that holds it was settled; null when there is none. */
export async function machineForPreview(deps: Deps, machineId: string): Promise<MachineAsRead | null> {
  const machine = await deps.machineLoader.machine(machineId);
  const holder = machine && runningOf(machine.liveInstances);
  if (holder === null) return machine;
  const account = await deps.accountLoader.account(holder.accountId);
  if (account === null || !isDue(account, deps.clock.now())) return machine;
  await settledAccount(deps, holder.accountId);
  return deps.machineLoader.machine(machineId);
}

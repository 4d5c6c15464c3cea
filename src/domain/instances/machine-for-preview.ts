import type { SettlingDeps } from '../billing/deps.js';
import { settledAccount } from '../billing/settlement.js';
import { runningOn } from '../kernel/free-machine.js';
import { isDue } from '../kernel/lifecycle.js';
import type { InstanceDeps } from './deps.js';
import type { MachineAsRead } from './machine-loader.js';

/** Settles the accounts that hold the machine and then returns the machine. Returns null if it doesn't exist. */
export async function machineForPreview(
  deps: SettlingDeps & Pick<InstanceDeps, 'machineLoader'>,
  machineId: string,
): Promise<MachineAsRead | null> {
  const machine = await deps.machineLoader.machine(machineId);
  if (machine === null) return null;
  const holders = [...new Set(runningOn(machine, machine.liveInstances).map(({ accountId }) => accountId))];
  const accounts = await Promise.all(holders.map((id) => deps.accountLoader.account(id)));
  const due = accounts.filter((account) => account !== null).filter((account) => isDue(account, deps.clock.now()));
  if (due.length === 0) return machine;
  for (const { id } of due) await settledAccount(deps, id);
  return deps.machineLoader.machine(machineId);
}

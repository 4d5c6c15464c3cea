import type { Command } from 'commander';
import type { InstanceRow } from '../domain/instances/instance-row.js';
import { listInstances, operatorAct } from '../domain/instances/instances.js';
import { usdNumber } from '../domain/kernel/money.js';
import { type Column, type Output, print, printJson, time, timeOrNull, usd } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<InstanceRow>[] = [
  ['ID', ({ id }) => id],
  ['ACCOUNT', ({ accountId }) => accountId],
  ['STATUS', ({ status }) => status.toLowerCase()],
  ['MACHINE', ({ machineId }) => machineId],
  ['GPUS', ({ gpu, numGpus }) => `${numGpus} x ${gpu}`],
  ['MODE', ({ mode }) => mode.toLowerCase()],
  ['USD/H', ({ gpuRate }) => usd(gpuRate)],
  ['CREATED', ({ createdAt }) => time(createdAt)],
  ['STOPPED', ({ stoppedAt }) => time(stoppedAt)],
];

export function addInstanceCommands(program: Command, run: Run): void {
  const instance = program.command('instance').description('Manage rentals');
  instance
    .command('list')
    .description('List live instances, newest first')
    .option('--account <id>', "Only this account's instances")
    .option('--json', 'Print JSON')
    .action((options: Output & { account?: string }) =>
      run(async (deps) => {
        const instances = await listInstances(deps, options.account ?? null);
        if (options.json) printJson(instances.map(asJson));
        else print(instances, COLUMNS);
      }),
    );
  for (const [name, action, description] of ACTIONS) {
    instance
      .command(`${name} <id>`)
      .description(description)
      .option('--json', 'Print JSON')
      .action((id: string, { json }: Output) =>
        run(async (deps) => {
          const changed = await operatorAct(deps, id, action);
          if (json) printJson(asJson(changed));
          else print([changed], COLUMNS);
        }),
      );
  }
}

const ACTIONS = [
  ['stop', 'STOP', 'Stop a running instance'],
  ['destroy', 'DESTROY', 'Destroy an instance and its disk'],
] as const;

function asJson(instance: InstanceRow): object {
  return {
    id: instance.id,
    account_id: instance.accountId,
    status: instance.status.toLowerCase(),
    machine_id: instance.machineId,
    gpu: instance.gpu,
    num_gpus: instance.numGpus,
    mode: instance.mode.toLowerCase(),
    price_hr: usdNumber(instance.gpuRate),
    created_at: timeOrNull(instance.createdAt),
    stopped_at: timeOrNull(instance.stoppedAt),
    destroyed_at: timeOrNull(instance.destroyedAt),
  };
}

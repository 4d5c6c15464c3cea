import { type Command, Option } from 'commander';
import {
  changeMachine,
  findMachine,
  importMachines,
  listMachines,
  MACHINE_COLUMNS,
  type MachineChange,
  type MachineState,
  type MachineView,
} from '../domain/inventory/machines.js';
import { addAgentCommands } from './agents.js';
import { recordsOf } from './files.js';
import { type Column, type Output, print, printImport, printJson, timeOrNull, withProgress } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<MachineView>[] = [
  ['ID', ({ id }) => id],
  ['GPUS', ({ gpu, numGpus }) => `${numGpus} x ${gpu}`],
  ['REGION', ({ region }) => region],
  [
    'STATE',
    ({ state, reachable }) => (reachable === false ? `${state.toLowerCase()}, unreachable` : state.toLowerCase()),
  ],
  ['DISK GB', ({ diskGb }) => String(diskGb)],
  ['USED GB', ({ usedDiskGb }) => String(usedDiskGb)],
  ['RUNS', ({ runs, unknown }) => (unknown.length === 0 ? '' : `${unknown.length} unknown, `) + (runs ?? '-')],
  ['DEMO', ({ demo }) => (demo ? 'demo' : '-')],
];

const STATES = ['listed', 'drained', 'offline', 'retired'];

const CHANGES: readonly [MachineChange, string][] = [
  ['drain', 'Accept no new deploys or starts; running instances continue'],
  ['offline', 'Like drain, with the machine marked as unreachable'],
  ['online', 'Offer the machine again'],
  ['retire', 'Remove the machine permanently; it must have no live instances'],
];

export function addMachineCommands(program: Command, run: Run): void {
  const machine = program.command('machine').description('Manage machines, the units that can be rented');
  machine
    .command('import <file>')
    .description(
      `Create or update machines by id from a CSV or JSON file (all rows or none), with the fields ${MACHINE_COLUMNS.join(', ')}`,
    )
    .option('--dry-run', 'Validate the file without changing anything')
    .option('--json', 'Print JSON')
    .action((file: string, options: Output & { dryRun?: boolean }) =>
      run(async (deps) => {
        const report = await withProgress('machines', (onProgress) =>
          importMachines(deps, recordsOf(file, MACHINE_COLUMNS), {
            dryRun: options.dryRun ?? false,
            ...(onProgress && { onProgress }),
          }),
        );
        printImport('machines', report, options);
      }),
    );
  machine
    .command('list')
    .description('List machines, sorted by id')
    .addOption(new Option('--state <state>', 'Only machines in this state').choices(STATES))
    .option('--gpu <slug>', 'Only machines of this GPU model')
    .option('--json', 'Print JSON')
    .action((options: Output & { state?: string; gpu?: string }) =>
      run(async (deps) => {
        const state = options.state?.toUpperCase() as MachineState | undefined;
        show(await listMachines(deps, { ...(state && { state }), ...(options.gpu && { gpu: options.gpu }) }), options);
      }),
    );
  machine
    .command('show <id>')
    .description('Show a machine')
    .option('--json', 'Print JSON')
    .action((id: string, options: Output) => run(async (deps) => show([await findMachine(deps, id)], options)));
  addAgentCommands(machine, run);
  for (const [change, description] of CHANGES) {
    machine
      .command(`${change} <id>`)
      .description(description)
      .option('--json', 'Print JSON')
      .action((id: string, options: Output) =>
        run(async (deps) => show([await changeMachine(deps, id, change)], options)),
      );
  }
}

function show(machines: readonly MachineView[], { json }: Output): void {
  if (!json) print(machines, COLUMNS);
  else printJson(machines.map(asJson));
}

function asJson(machine: MachineView): object {
  return {
    id: machine.id,
    gpu: machine.gpu,
    num_gpus: machine.numGpus,
    region: machine.region,
    cpu: machine.cpu,
    vcpus: machine.vcpus,
    ram_gb: machine.ramGb,
    disk_gb: machine.diskGb,
    net_down_mbps: machine.netDownMbps,
    net_up_mbps: machine.netUpMbps,
    ports: machine.ports,
    pcie: machine.pcie,
    nvlink: machine.nvlink,
    cuda_max: machine.cudaMax,
    reliability: machine.reliability,
    state: machine.state.toLowerCase(),
    demo: machine.demo,
    reachable: machine.reachable,
    last_seen_at: timeOrNull(machine.lastSeenAt),
    used_disk_gb: machine.usedDiskGb,
    runs: machine.runs,
    unknown: machine.unknown,
  };
}

import type { Command } from 'commander';
import { type HostView, listHosts, sellSlices } from '../domain/fleet/hosts.js';
import { countedModels, formatSizes, readSizes } from '../domain/inventory/rules/host-gpus.js';
import { required } from '../std/required.js';
import { type Column, type Output, print, printJson, time } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<HostView>[] = [
  ['ID', ({ id }) => id],
  ['GPUS', ({ gpus }) => countedModels(gpus).join(', ')],
  ['FREE', ({ freeGpus }) => String(freeGpus)],
  ['MISSING', ({ missing }) => (missing.length === 0 ? '-' : missing.join(','))],
  ['SOLD AS', ({ sizes, protocol }) => (protocol === 1 ? 'whole (old agent)' : formatSizes(sizes))],
  ['STATE', ({ state, reachable }) => (reachable ? state.toLowerCase() : `${state.toLowerCase()}, unreachable`)],
  ['DISK GB', ({ diskGb }) => String(diskGb)],
  ['USED GB', ({ usedDiskGb }) => String(usedDiskGb)],
];

const BLOCK_COLUMNS: readonly Column<HostView['blocks'][number]>[] = [
  ['MACHINE', ({ id }) => id],
  ['GPUS', ({ numGpus, gpu }) => `${numGpus} x ${gpu}`],
  ['FIRST', ({ firstGpu }) => String(firstGpu)],
  ['SOLD', ({ sold }) => (sold ? 'yes' : '-')],
  ['RUNS', ({ runs }) => runs ?? '-'],
];

/** Adds the commands for hosts, which are computers with an agent. A host's GPUs are sold as one or more machines. */
export function addHostCommands(program: Command, run: Run): void {
  const host = program.command('host').description('Manage hosts: computers with an agent, sold as machines');
  host
    .command('list')
    .description('List hosts, sorted by id')
    .option('--json', 'Print JSON')
    .action((options: Output) => run(async (deps) => show(await listHosts(deps), options)));
  host
    .command('show <id>')
    .description('Show a host and its machines')
    .option('--json', 'Print JSON')
    .action((id: string, options: Output) =>
      run(async (deps) => showOne(required((await listHosts(deps, id))[0], 'host'), options)),
    );
  host
    .command('slices <id> <sizes>')
    .description('Set the block sizes to sell: all, whole, or sizes such as 1,2; current rentals continue')
    .option('--json', 'Print JSON')
    .action((id: string, sizes: string, options: Output) =>
      run(async (deps) => {
        await sellSlices(deps, id, readSizes(sizes));
        showOne(required((await listHosts(deps, id))[0], 'host'), options);
      }),
    );
}

function show(hosts: readonly HostView[], { json }: Output): void {
  if (json) printJson(hosts.map(asJson));
  else print(hosts, COLUMNS);
}

function showOne(host: HostView, { json }: Output): void {
  if (json) {
    printJson(asJson(host));
    return;
  }
  print([host], COLUMNS);
  process.stdout.write('\n');
  print(host.blocks, BLOCK_COLUMNS);
}

function asJson({ id, gpus, sizes, protocol, missing, joinedAt, blocks, ...host }: HostView): object {
  return {
    id,
    state: host.state.toLowerCase(),
    reachable: host.reachable,
    joined_at: time(joinedAt),
    protocol,
    slices: formatSizes(sizes),
    gpus: gpus.map(({ uuid, model }, place) => ({ place, uuid, model, missing: missing.includes(place) })),
    free_gpus: host.freeGpus,
    disk_gb: host.diskGb,
    used_disk_gb: host.usedDiskGb,
    machines: blocks.map(({ firstGpu, numGpus, ...block }) => ({ ...block, first_gpu: firstGpu, num_gpus: numGpus })),
  };
}

import type { Command } from 'commander';
import {
  type CheckedRepository,
  checkRepository,
  compareStore,
  type StoreComparison,
  type VolumeView,
  viewVolumes,
} from '../domain/volumes/check.js';
import type { VolumeDeps } from '../domain/volumes/deps.js';
import { type Column, type Output, print, printJson, time, timeOrNull } from './output.js';
import type { Run } from './run.js';

const BYTES_PER_MB = 1_000_000n;

const COLUMNS: readonly Column<VolumeView>[] = [
  ['ID', ({ id }) => id],
  ['ACCOUNT', ({ accountId }) => accountId],
  ['SIZE GB', ({ sizeGb }) => String(sizeGb)],
  ['STORED MB', ({ storedBytes }) => String(storedBytes / BYTES_PER_MB)],
  ['SNAPSHOTS', ({ snapshots }) => String(snapshots)],
  ['NEWEST', ({ newestAt }) => time(newestAt)],
  ['HELD BY', ({ heldBy }) => heldBy ?? '-'],
  ['STATE', ({ deletedAt, keepFailedAt }) => stateOf(deletedAt, keepFailedAt)],
];

interface CheckOptions extends Output {
  readData?: boolean;
}

/** Adds the commands for volumes and their snapshot store. */
export function addVolumeCommands(program: Command, run: Run): void {
  const volume = program.command('volume').description('Manage volumes and their snapshot store');
  volume
    .command('list')
    .description('List all volumes that have data in the store')
    .option('--json', 'Print JSON')
    .action(({ json }: Output) =>
      run(async (deps) => {
        const volumes = await viewVolumes(deps);
        if (json) printJson(volumes.map(asJson));
        else print(volumes, COLUMNS);
      }),
    );
  volume
    .command('check [id]')
    .description('Compare the store with the database, and check repositories with restic; exit with 1 on any fault')
    .option('--read-data', 'Also read and verify all stored data')
    .option('--json', 'Print JSON')
    .action((id: string | undefined, options: CheckOptions) => run((deps) => check(deps, id ?? null, options)));
}

async function check(
  deps: Pick<VolumeDeps, 'db' | 'sealingKeys' | 'restic' | 'volumeStore'>,
  only: string | null,
  { json, readData = false }: CheckOptions,
): Promise<void> {
  const compared = await compareStore(deps, only);
  const ids = only === null ? (await viewVolumes(deps)).flatMap((each) => (each.deletedAt ? [] : [each.id])) : [only];
  const checked: CheckedRepository[] = [];
  for (const id of ids) checked.push(await checkRepository(deps, id, readData));
  const faults = checked.flatMap(({ volumeId, fault }) => (fault === null ? [] : [{ volumeId, fault }]));
  if (json)
    printJson({
      ...comparisonJson(compared),
      faults: faults.map(({ volumeId, fault }) => ({ volume: volumeId, fault })),
    });
  else for (const line of linesOf(compared, faults, checked.length)) process.stdout.write(`${line}\n`);
  if (faults.length > 0 || compared.differences.length > 0) process.exitCode = 1;
}

function linesOf(
  { differences, unknownVolumes }: StoreComparison,
  faults: readonly { volumeId: string; fault: string }[],
  checked: number,
) {
  return [
    ...differences.flatMap(({ volumeId, isGone, missing, unknown }) => [
      ...(isGone
        ? [`${volumeId}: the store has none of its snapshots; it is older than the database, or a different store`]
        : []),
      ...(missing.length > 0 && !isGone
        ? [`${volumeId}: ${missing.length} snapshots in the database are missing from the store`]
        : []),
      ...(unknown.length > 0
        ? [`${volumeId}: ${unknown.length} snapshots in the store are missing from the database`]
        : []),
    ]),
    ...unknownVolumes.map((id) => `${id}: unknown to the database; its data is never erased automatically`),
    ...faults.map(({ volumeId, fault }) => `${volumeId}: ${fault.replace(/\s*\n\s*/g, ' | ')}`),
    `${checked} repositories checked, ${faults.length} with faults`,
  ];
}

function comparisonJson({ volumes, differences, unknownVolumes }: StoreComparison) {
  return {
    volumes,
    differences: differences.map(({ volumeId, isGone, missing, unknown }) => ({
      volume: volumeId,
      gone: isGone,
      missing,
      unknown: unknown.map(({ id }) => id),
    })),
    strangers: unknownVolumes,
  };
}

function asJson(volume: VolumeView) {
  return {
    id: volume.id,
    account_id: volume.accountId,
    size_gb: volume.sizeGb,
    stored_bytes: Number(volume.storedBytes),
    snapshots: volume.snapshots,
    newest_at: timeOrNull(volume.newestAt),
    held_by: volume.heldBy,
    keep_failed_at: timeOrNull(volume.keepFailedAt),
    keep_fault: volume.keepFault,
    deleted_at: timeOrNull(volume.deletedAt),
  };
}

function stateOf(deletedAt: Date | null, keepFailedAt: Date | null): string {
  if (deletedAt !== null) return 'to be erased';
  return keepFailedAt === null ? '-' : `not pruned since ${time(keepFailedAt)}`;
}

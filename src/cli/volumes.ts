import type { Command } from 'commander';
import type { Volume, VolumeList, VolumeRelease, VolumeWithSnapshots } from '../client/index.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import { type Output, show, type View } from './show.js';
import { type Column, card, formatUsd, number, table, text, usd, when } from './table.js';
import { canPrompt, confirm, done, printLines } from './terminal.js';
import { readable, readableWithAge } from './times.js';

const BYTES_PER_MB = 1_000_000;
const NEEDS_KEY = { needsKey: true } as const;

type Listed = VolumeList['data'][number];
type Snapshot = VolumeWithSnapshots['snapshots'][number];

const COLUMNS: readonly Column<Listed>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('NAME', ({ name }) => visible(name)),
  number('SIZE', ({ size_gb }) => size_gb, { unit: 'GB' }),
  usd('PRICE', ({ price_hr }) => price_hr),
  text('IN USE BY', ({ in_use_by }) => in_use_by ?? '-'),
  when('LAST SNAPSHOT', ({ last_snapshot_at }) => last_snapshot_at, { spare: 2 }),
  text('STORED', ({ stored_bytes }) => megabytes(stored_bytes), { spare: 3 }),
  when('CREATED', ({ created_at }) => created_at, { spare: 1 }),
];
const SNAPSHOTS: readonly Column<Snapshot>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  when('AT', ({ at }) => at),
  text('SIZE', ({ size_bytes }) => (size_bytes === null ? '-' : megabytes(size_bytes))),
  text('INSTANCE', ({ instance_id }) => instance_id ?? '-', { spare: 1 }),
];

const LIST: View<VolumeList> = {
  lines: ({ data }) => (data.length === 0 ? [] : table(data, COLUMNS)),
  ids: ({ data }) => data.map(({ id }) => id),
  remark: ({ data }) => (data.length === 0 ? 'No volumes. `gpu volume create NAME --size-gb GB` creates one.' : null),
};
const ONE: View<Volume> = { lines: (volume) => card(fieldsOf(volume)), ids: ({ id }) => [id] };
const OF_ONE: View<VolumeWithSnapshots> = {
  lines: ({ snapshots }) => (snapshots.length === 0 ? [] : table(snapshots, SNAPSHOTS)),
  ids: ({ snapshots }) => snapshots.map(({ id }) => id),
  remark: ({ snapshots }) => (snapshots.length === 0 ? 'No snapshot is stored yet.' : null),
};

const RELEASED: View<VolumeRelease> = {
  lines: ({ volume_id, lost_since }) => [
    done(
      `${volume_id} has been detached${lost_since === null ? '' : `; changes since ${readable(lost_since)} are lost`}`,
    ),
  ],
  ids: ({ volume_id }) => [volume_id],
};

interface WriteOptions extends Output {
  idempotencyKey?: string;
}

export function addVolumeCommands(program: Command): void {
  const volume = program.command('volume').description('Manage volumes, which outlive machines');
  withOutput(volume.command('list').description('List your volumes, oldest first')).action((options: Output, command) =>
    show(openSession(command, NEEDS_KEY), options, (client) => client.volumes.list(), LIST),
  );
  withOutput(volume.command('show <id>').description('Show a volume, existing or deleted')).action(
    (id: string, options: Output, command) =>
      show(openSession(command, NEEDS_KEY), options, (client) => client.volumes.get(id), ONE),
  );
  withOutput(volume.command('snapshots <id>').description("List a volume's stored snapshots, newest first")).action(
    (id: string, options: Output, command) =>
      show(openSession(command, NEEDS_KEY), options, (client) => client.volumes.get(id), OF_ONE),
  );
  addChanges(volume);
  volume
    .command('password <id>')
    .description("Print a volume's repository password, for restic")
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, NEEDS_KEY);
      const query = 'query ($id: ID!) { volumePassword(id: $id) }';
      printLines([(await queryGraphql<{ volumePassword: string }>(settings, query, { id })).volumePassword]);
    });
}

function addChanges(volume: Command): void {
  withKey(
    withOutput(
      volume
        .command('create <name>')
        .description('Create a volume, which is billed until it is deleted')
        .requiredOption('--size-gb <gb>', 'Size in GB (required); a volume can grow, but not shrink', amount),
    ),
  ).action((name: string, options: WriteOptions & { sizeGb: number }, command: Command) =>
    show(
      openSession(command, NEEDS_KEY),
      options,
      (client) => client.volumes.create({ name, size_gb: options.sizeGb }, keyOf(options)),
      ONE,
    ),
  );
  withKey(
    withOutput(
      volume
        .command('grow <id>')
        .description('Grow a volume; the new size applies from the next start')
        .requiredOption('--size-gb <gb>', 'New size in GB (required)', amount),
    ),
  ).action((id: string, options: WriteOptions & { sizeGb: number }, command: Command) =>
    show(
      openSession(command, NEEDS_KEY),
      options,
      (client) => client.volumes.grow(id, options.sizeGb, keyOf(options)),
      ONE,
    ),
  );
  withOutput(
    volume
      .command('release <id>')
      .description('Detach a volume from an instance that is not running; unsaved changes are lost'),
  )
    .option('-y, --yes', "Don't ask for confirmation")
    .action(releaseOne);
  withKey(withOutput(volume.command('delete <id>').description('Delete a volume with all its snapshots')))
    .option('-y, --yes', "Don't ask for confirmation")
    .action(deleteOne);
}

async function releaseOne(id: string, options: Output & { yes?: boolean }, command: Command): Promise<void> {
  if (!options.yes && !canPrompt())
    throw new Failure(EXIT.usage, 'release can lose unsaved changes; confirm with --yes');
  const session = openSession(command, NEEDS_KEY);
  if (!options.yes && !(await confirm(`Detach ${id} from its instance? Changes that it has not saved are lost.`)))
    throw new Failure(EXIT.usage, 'not released');
  await show(session, options, (client) => client.volumes.release(id), RELEASED);
}

async function deleteOne(id: string, options: WriteOptions & { yes?: boolean }, command: Command): Promise<void> {
  if (!options.yes && !canPrompt())
    throw new Failure(EXIT.usage, 'delete erases the volume and its snapshots; confirm with --yes');
  const session = openSession(command, NEEDS_KEY);
  if (!options.yes) {
    const { body } = await session.request((client) => client.volumes.get(id));
    const what = `${body.id} (${visible(body.name)}, ${body.size_gb} GB)`;
    if (!(await confirm(`Delete ${what} and all its snapshots?`))) throw new Failure(EXIT.usage, 'not deleted');
  }
  const view: View<Volume> = { lines: (body) => [done(`${body.id} has been deleted`)], ids: (body) => [body.id] };
  await show(session, options, (client) => client.volumes.delete(id, keyOf(options)), view);
}

function fieldsOf(volume: Volume): [label: string, value: string][] {
  return [
    ['Id', volume.id],
    ['Name', visible(volume.name)],
    ['Size', `${volume.size_gb} GB`],
    ['Price', `${formatUsd(volume.price_hr)} USD/h`],
    ['In use by', volume.in_use_by ?? '-'],
    ['Last snapshot', readableWithAge(volume.last_snapshot_at)],
    ['Stored', megabytes(volume.stored_bytes)],
    ['Created', readableWithAge(volume.created_at)],
    ...(volume.deleted_at === null ? [] : [['Deleted', readableWithAge(volume.deleted_at)] as [string, string]]),
  ];
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / BYTES_PER_MB)} MB`;
}

function keyOf({ idempotencyKey }: WriteOptions): { idempotencyKey?: string } {
  return idempotencyKey === undefined ? {} : { idempotencyKey };
}

function withOutput(command: Command): Command {
  return command
    .option('--json', "Print the service's JSON response unchanged")
    .option('-q, --quiet', 'Print only the ids');
}

function withKey(command: Command): Command {
  return command.option(
    '--idempotency-key <key>',
    'Idempotency key; repeated requests within 24 hours return the first response',
  );
}

import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DeployRequest, GpuClient, Instance, InstanceLaunch, InstanceList, Runtime } from '../client/index.js';
import { visible } from '../visible.js';
import { type Attached, attachedOf, describeAttached, untilSaved } from './attached.js';
import { type DeadlineOptions, deadlinesOf, withDeadlines } from './deadlines.js';
import { EXIT, Failure } from './failure.js';
import { namesOf } from './instances.js';
import { type LaunchOptions, launchOf, withLaunch } from './launch.js';
import { amount } from './market.js';
import { describeExitCode, describeRuntime, orNothing, waitUntilRunning } from './runtime.js';
import { openSession, type Session } from './session.js';
import type { Settings } from './settings.js';
import { type Output, show, type View, watchSeconds } from './show.js';
import { sshInto } from './ssh.js';
import { givenBackSince } from './statements.js';
import { type Column, card, formatUsd, number, table, text, usd, when } from './table.js';
import { requestOfSaved } from './templates.js';
import { canAsk, confirm, done, remark, type Style } from './terminal.js';
import { readableWithAge } from './times.js';
import { addVolume, type VolumeAtPath } from './volume-paths.js';

type Type = NonNullable<DeployRequest['type']>;

const TYPES = ['od', 'interruptible', 'res', 'spot'] as const satisfies readonly Type[];
const STYLE_OF: Record<Instance['status'], Style> = { running: 'green', stopped: 'yellow', destroyed: 'red' };

type Listed = InstanceList['data'][number] & Seen;
/** The rental with its runtime; null where its machine has no host agent. */
type Seen = {
  name?: string;
  runtime?: Runtime;
  givenBack?: number;
  tcpPorts?: readonly TcpPort[];
  volumes?: readonly Attached[];
};
/** A published TCP port. */
interface TcpPort {
  port: number;
  host: string;
  publicPort: number;
}
const DETAILS = 'query ($id: ID!) { instance(id: $id) { name tcpPorts { port host publicPort } } }';

/** The options that decide what to fetch. */
type Asked = Pick<Output, 'json' | 'quiet'>;

const COLUMNS: readonly Column<Listed>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('NAME', ({ id, name }) => nameOf(id, name) ?? '-', { spare: 2 }),
  text('STATUS', ({ status }) => status, { style: ({ status }) => STYLE_OF[status] }),
  text('GPU', ({ gpu }) => gpu),
  number('GPUS', ({ num_gpus }) => num_gpus),
  text('REGION', ({ region }) => region, { spare: 3 }),
  text('TYPE', ({ type }) => type),
  usd('PRICE', ({ price_hr }) => price_hr),
  number('DISK', ({ disk_gb }) => disk_gb, { unit: 'GB' }),
  text('TEMPLATE', ({ template }) => template, { spare: 4 }),
  when('CREATED', ({ created_at }) => created_at, { spare: 1 }),
  when('STOPPED', ({ stopped_at }) => stopped_at, { spare: 5 }),
];

const RUNTIME = text<Listed>('CONTAINER', ({ runtime }) => (runtime === undefined ? '-' : describeRuntime(runtime)), {
  spare: 6,
});

/** Shows each member that is set, by its REST name, as JSON unless it is text. */
const LAUNCHED: View<InstanceLaunch> = {
  lines: ({ object: _, launch, ...terms }) =>
    card(
      Object.entries({ ...terms, ...launch })
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, visible(typeof value === 'string' ? value : JSON.stringify(value))]),
    ),
  ids: ({ id }) => [id],
};

interface SeenList extends Omit<InstanceList, 'data'> {
  data: Listed[];
}

const LIST: View<SeenList> = {
  lines: ({ data }) => {
    if (data.length === 0) return [];
    return table(data, data.some(({ runtime }) => runtime !== undefined) ? [...COLUMNS, RUNTIME] : COLUMNS);
  },
  ids: ({ data }) => data.map(({ id }) => id),
  remark: ({ data }) => (data.length === 0 ? 'No active instances. `gpu offers` lists what can be deployed.' : null),
};

const ONE: View<Instance & Seen> = {
  lines: (instance) => card(fieldsOf(instance)),
  ids: ({ id }) => [id],
};

interface WriteOptions extends Output {
  idempotencyKey?: string;
}

interface DeployOptions extends WriteOptions, LaunchOptions, DeadlineOptions {
  template?: string;
  diskGb?: number;
  saved?: string;
  volume?: VolumeAtPath[];
  type?: Type;
  wait?: boolean;
  ssh?: boolean;
  identity?: string;
}

export function addRentalCommands(program: Command): void {
  program
    .command('instances')
    .description('your active instances, newest first')
    .option('--json', "print the service's answer as it is")
    .option('-q, --quiet', 'print ids only')
    .option('-w, --watch [seconds]', 'show it again every few seconds (default: 2)', watchSeconds)
    .action((options: Output, command: Command) =>
      show(openSession(command, { needsKey: true }), options, lister(options), LIST),
    );
  withOutput(program.command('show <instance>').description('one instance, also a destroyed one')).action(
    (id: string, options: Output, command: Command) => showOne(openSession(command, { needsKey: true }), id, options),
  );
  withKey(
    withOutput(
      withDeadlines(
        withLaunch(
          program
            .command('deploy <machine> [command...]')
            .description('rent a machine; its hourly price is locked for the life of the instance')
            .addHelpText(
              'after',
              '\nWords behind -- are the command: gpu deploy m-1 --template vllm -- --model facebook/opt-125m',
            )
            .option('--template <template>', 'template slug or OCI image (default: pytorch)')
            .option('--disk-gb <gb>', 'disk size in GB (default: 50)', amount)
            .option('--volume <id:path>', 'a volume of yours, such as v-1a2b3c4d:/data (repeatable)', addVolume)
            .option('--saved <name>', 'what you saved under this name (`gpu template`); other options go before it')
            .addOption(new Option('--type <type>', 'how it is priced (default: od)').choices(TYPES))
            .option('--wait', 'end when its container runs, or can not')
            .option('--ssh', 'wait, and open a shell in it')
            .option('-i, --identity <file>', 'with --ssh: private key to log in with, instead of those that ssh tries'),
        ),
      ),
    ),
  ).action(async (machine: string, words: string[], options: DeployOptions, command: Command) => {
    if (options.identity !== undefined && !options.ssh) throw new Failure(EXIT.usage, '--identity goes with --ssh');
    const session = openSession(command, { needsKey: true });
    const saved = options.saved === undefined ? {} : await requestOfSaved(session.settings, options.saved);
    const { volume: volumes } = options;
    const asked = { ...launchOf(options, words), ...deadlinesOf(options), ...(volumes !== undefined && { volumes }) };
    let id = '';
    await show(
      session,
      options,
      async (client) => {
        const instance = await underKey(options, (write) =>
          client.instances.deploy({ ...saved, ...requestOf(machine, options), ...asked }, write),
        );
        id = instance.id;
        return instance;
      },
      ONE,
    );
    if (options.wait || options.ssh) await session.ask((client) => waitUntilRunning(client, id), true);
    // As the container's user: of `options`, `user` is that of the launch.
    if (options.ssh) await sshInto(session.settings, id, [], { identity: options.identity });
  });
  for (const [action, description] of [
    ['start', 'start a stopped instance on its machine'],
    ['stop', 'stop an instance: only its disk is billed from then on'],
  ] as const) {
    withKey(withOutput(program.command(`${action} <instance>`).description(description))).action(
      (id: string, options: WriteOptions, command: Command) =>
        show(
          openSession(command, { needsKey: true }),
          options,
          (client) => underKey(options, (write) => client.instances.action(id, action, write)),
          ONE,
        ),
    );
  }
  withKey(
    withOutput(
      program
        .command('move <instance>')
        .description('go on elsewhere: rent the best machine on another host for what an instance with volumes ran')
        .addHelpText('after', '\nThe instance is stopped, destroyed within 7 days, or on a host that is gone.')
        .option('--max-price <usd>', 'up to this price per hour for the whole machine', amount),
    ),
  ).action(async (id: string, options: WriteOptions & { maxPrice?: number }, command: Command) => {
    const session = openSession(command, { needsKey: true });
    const request = options.maxPrice === undefined ? {} : { max_price_per_hour: options.maxPrice };
    await session.ask((client) => untilSaved(client, id, remark), true);
    await show(
      session,
      options,
      (client) => underKey(options, (write) => client.instances.move(id, request, write)),
      ONE,
    );
  });
  withOutput(
    program.command('launch <instance>').description('what an instance was launched with, and what ends it'),
  ).action((id: string, options: Output, command: Command) =>
    show(openSession(command, { needsKey: true }), options, (client) => client.instances.launch(id), LAUNCHED),
  );
  withKey(withOutput(program.command('destroy <instance>').description('destroy an instance and erase its disk')))
    .option('-y, --yes', "don't ask")
    .option('--ensure', 'succeed too if it is destroyed already')
    .action(destroy);
}

/**
 * Queries the list, the names of new instances, and the runtimes unless none are known to exist; a watched list is
 * queried often.
 */
function lister({ json, quiet }: Asked): (client: GpuClient) => Promise<SeenList> {
  let idsWithout = '';
  let names: ReadonlyMap<string, string> = new Map();
  return async (client) => {
    const list = await client.instances.list();
    if (json || quiet) return list;
    const ids = list.data.map(({ id }) => id);
    const [known, seen] = await Promise.all([
      ids.every((id) => names.has(id)) ? names : orNothing(namesOf(client)),
      ids.join(' ') === idsWithout ? null : orNothing(client.instances.runtimes()),
    ]);
    names = known ?? names;
    if (seen !== null) idsWithout = seen.size === 0 ? ids.join(' ') : '';
    const data = list.data.map((instance) => {
      const name = names.get(instance.id);
      return { ...instance, ...(name !== undefined && { name }), ...seenOf(seen?.get(instance.id)) };
    });
    return { ...list, data };
  };
}

function showOne(session: Session, id: string, options: Output): Promise<void> {
  return show(session, options, (client) => oneOf(client, session.settings, id, options), ONE);
}

async function oneOf(client: GpuClient, settings: Settings, id: string, asked: Asked): Promise<Instance & Seen> {
  const instance = await client.instances.get(id);
  if (asked.json || asked.quiet) return instance;
  const [runtime, givenBack, details, volumes] = await Promise.all([
    orNothing(client.instances.runtime(id)),
    orNothing(givenBackSince(settings, instance.created_at, id)),
    orNothing(detailsOf(client, id)),
    orNothing(attachedOf(client, id)),
  ]);
  const more = { ...(givenBack ? { givenBack } : {}), ...details, ...(volumes && { volumes }) };
  return { ...instance, ...seenOf(runtime), ...more };
}

function seenOf(runtime: Runtime | null | undefined): Seen {
  return runtime ? { runtime } : {};
}

async function destroy(
  id: string,
  options: WriteOptions & { yes?: boolean; ensure?: boolean },
  command: Command,
): Promise<void> {
  if (!options.yes && !canAsk()) {
    throw new Failure(EXIT.usage, 'destroy erases a disk and nobody is here to ask: confirm with --yes');
  }
  const session = openSession(command, { needsKey: true });
  if (!options.yes) {
    const { body } = await session.ask((client) => client.instances.get(id));
    const what = `${body.id} (${body.status}, ${body.num_gpus} x ${body.gpu} in ${body.region}, ${body.template})`;
    if (!(await confirm(`Destroy ${what} and erase its ${body.disk_gb} GB disk?`))) {
      throw new Failure(EXIT.usage, 'not destroyed');
    }
  }
  const view = {
    lines: (body: { id: string }) => [done(`${body.id} is destroyed`)],
    ids: (body: { id: string }) => [body.id],
  };
  const { ensure = false } = options;
  await show(
    session,
    options,
    (client) => underKey(options, (write) => client.instances[ensure ? 'ensureDestroyed' : 'destroy'](id, write)),
    view,
  );
}

function withOutput(command: Command): Command {
  return command
    .option('--json', "print the service's answer as it is")
    .option('-q, --quiet', 'print the id of the instance only');
}

function withKey(command: Command): Command {
  return command.option(
    '--idempotency-key <key>',
    'name this request, so that sending it again does nothing twice',
    visibleAscii,
  );
}

/** Checks that a key fits a header; the service checks the length. */
function visibleAscii(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new InvalidArgumentError('must be visible ASCII characters without spaces.');
  return key;
}

/** Sends a write under a key created in advance, so that the user can find its outcome after an interrupt. */
async function underKey<Body>(
  { idempotencyKey = randomUUID() }: WriteOptions,
  send: (write: { idempotencyKey: string; signal: AbortSignal }) => Promise<Body>,
): Promise<Body> {
  const controller = new AbortController();
  const interrupt = () => {
    const how = `\`gpu instances\` lists what you have; the same command with --idempotency-key ${idempotencyKey} gets its answer, or does it now`;
    controller.abort(new Failure(EXIT.interrupted, `interrupted; the service may have done it: ${how}`));
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await send({ idempotencyKey, signal: controller.signal });
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

function requestOf(machineId: string, { template, diskGb, type }: DeployOptions): DeployRequest {
  return {
    machine_id: machineId,
    ...(template !== undefined && { template }),
    ...(diskGb !== undefined && { disk_gb: diskGb }),
    ...(type !== undefined && { type }),
  };
}

function fieldsOf(instance: Instance & Seen): [label: string, value: string, style?: Style][] {
  const name = nameOf(instance.id, instance.name);
  return [
    ['Instance', instance.id, 'cyan'],
    ...(name === null ? [] : [['Name', name] satisfies [string, string]]),
    ['Status', instance.status, STYLE_OF[instance.status]],
    ['GPU', `${instance.num_gpus} x ${instance.gpu}`],
    ['Region', instance.region],
    ['Price', `${formatUsd(instance.price_hr)} USD per hour (${instance.type})`],
    ...(instance.givenBack === undefined
      ? []
      : [['Given back', `${formatUsd(instance.givenBack)} USD for what was not delivered`] satisfies [string, string]]),
    ['Disk', `${instance.disk_gb} GB`],
    ['Template', instance.template],
    ['Hostname', instance.hostname],
    ...(instance.tcpPorts ?? []).map(({ port, host, publicPort }): [string, string] => [
      `TCP ${port}`,
      `${visible(host)}:${publicPort}`,
    ]),
    ...(instance.volumes ?? []).map((each): [string, string] => [each.id, describeAttached(each, new Date())]),
    ...containerOf(instance),
    ['Created', readableWithAge(instance.created_at)],
    ['Stopped', readableWithAge(instance.stopped_at)],
  ];
}

interface Details {
  name: string;
  tcpPorts: TcpPort[];
}

async function detailsOf(client: GpuClient, id: string): Promise<Details | null> {
  return (await client.graphql<{ instance: Details | null }>(DETAILS, { id })).instance;
}

/** Returns null for an instance without a name, whose name is its id. */
function nameOf(id: string, name: string | undefined): string | null {
  return name === undefined || name === id ? null : name;
}

function containerOf({ runtime }: Seen): [label: string, value: string][] {
  if (runtime === undefined) return [];
  const seenAt = runtime.lastSeenAt === null ? 'never' : readableWithAge(runtime.lastSeenAt);
  const exitCode = describeExitCode(runtime);
  return [
    ['Container', describeRuntime(runtime)],
    ...(exitCode === null ? [] : [['Exit code', exitCode] satisfies [string, string]]),
    ...(runtime.reachable ? [] : [['Last seen', seenAt] satisfies [string, string]]),
  ];
}

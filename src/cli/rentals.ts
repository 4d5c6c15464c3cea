import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DeployRequest, GpuClient, Instance, InstanceLaunch, InstanceList, Runtime } from '../client/index.js';
import { visible } from '../std/visible.js';
import { type Attached, attachedOf, describeAttached, untilSaved } from './attached.js';
import { EXIT, Failure } from './failure.js';
import { namesOf } from './instances.js';
import { type LaunchOptions, launchOf, withLaunch } from './launch.js';
import { amount } from './market.js';
import { describeExitCode, describeRuntime, orNull, waitUntilRunning } from './runtime.js';
import { openSession, type Session } from './session.js';
import type { Settings } from './settings.js';
import { type Output, show, type View, watchSeconds } from './show.js';
import { sshInto } from './ssh.js';
import { serviceCreditSince } from './statements.js';
import { type Column, card, formatUsd, number, table, text, usd, when } from './table.js';
import { requestOfSaved } from './templates.js';
import { canPrompt, confirm, done, remark, type Style } from './terminal.js';
import { termsOf, withTerms } from './terms.js';
import { readableWithAge } from './times.js';

type Type = NonNullable<DeployRequest['type']>;

const TYPES = ['od', 'interruptible', 'res', 'spot'] as const satisfies readonly Type[];
const STYLE_OF: Record<Instance['status'], Style> = { running: 'green', stopped: 'yellow', destroyed: 'red' };

type Listed = InstanceList['data'][number] & Extras;
/** Fields that the rental has only in GraphQL. `runtime` is missing if the machine has no host agent. */
type Extras = {
  name?: string;
  runtime?: Runtime;
  serviceCredit?: number;
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

/** The output options that determine what to fetch. */
type Format = Pick<Output, 'json' | 'quiet'>;

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

/** Shows each field that is set, under its REST name. Values other than strings are shown as JSON. */
const LAUNCHED: View<InstanceLaunch> = {
  lines: ({ object: _, launch, ...terms }) =>
    card(
      Object.entries({ ...terms, ...launch })
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, visible(typeof value === 'string' ? value : JSON.stringify(value))]),
    ),
  ids: ({ id }) => [id],
};

interface DetailedList extends Omit<InstanceList, 'data'> {
  data: Listed[];
}

const LIST: View<DetailedList> = {
  lines: ({ data }) => {
    if (data.length === 0) return [];
    return table(data, data.some(({ runtime }) => runtime !== undefined) ? [...COLUMNS, RUNTIME] : COLUMNS);
  },
  ids: ({ data }) => data.map(({ id }) => id),
  remark: ({ data }) =>
    data.length === 0 ? 'No active instances. `gpu offers` lists the machines that you can deploy.' : null,
};

const ONE: View<Instance & Extras> = {
  lines: (instance) => card(fieldsOf(instance)),
  ids: ({ id }) => [id],
};

interface WriteOptions extends Output {
  idempotencyKey?: string;
}

interface DeployOptions extends WriteOptions, LaunchOptions {
  template?: string;
  diskGb?: number;
  saved?: string;
  type?: Type;
  wait?: boolean;
  ssh?: boolean;
  identity?: string;
}

export function addRentalCommands(program: Command): void {
  program
    .command('instances')
    .description('List your active instances, newest first')
    .option('--json', "Print the service's JSON response unchanged")
    .option('-q, --quiet', 'Print only the ids')
    .option('--label <selector>', 'List only instances with these labels, such as team=vision,experiment')
    .option('-w, --watch [seconds]', 'Refresh at this interval in seconds, 1 to 3600 (default: 2)', watchSeconds)
    .action((options: Output & { label?: string }, command: Command) =>
      show(openSession(command, { needsKey: true }), options, lister(options), LIST),
    );
  withOutput(program.command('show <instance>').description('Show an instance, active or destroyed')).action(
    (id: string, options: Output, command: Command) => showOne(openSession(command, { needsKey: true }), id, options),
  );
  withKey(
    withOutput(
      withTerms(
        withLaunch(
          program
            .command('deploy')
            .argument('<machine>', 'Machine id, as listed by `gpu offers`')
            .argument('[command...]', 'Container command and its arguments, after --')
            .description('Rent a machine at its current hourly price, locked for the life of the instance')
            .option('--template <template>', 'Template slug or OCI image (default: pytorch)')
            .option('--disk-gb <gb>', 'Disk size in GB (default: 50)', amount)
            .option('--saved <name>', 'Use a launch saved with `gpu template save`; other options override it')
            .addOption(
              new Option(
                '--type <type>',
                'Pricing: on demand, interruptible (also spot), or reserved for 3 months; od by default',
              ).choices(TYPES),
            )
            .option('--wait', "Wait until the container is running; fail if it can't run")
            .option('--ssh', 'Wait until the container is running, and open a shell in it')
            .option('-i, --identity <file>', 'Private key for --ssh (default: the keys that ssh tries)'),
        ),
      ),
    ),
  ).action(async (machine: string, words: string[], options: DeployOptions, command: Command) => {
    if (options.identity !== undefined && !options.ssh) throw new Failure(EXIT.usage, '--identity requires --ssh');
    const session = openSession(command, { needsKey: true });
    const saved = options.saved === undefined ? {} : await requestOfSaved(session.settings, options.saved);
    const wanted = { ...launchOf(options, words), ...termsOf(options) };
    let id = '';
    await show(
      session,
      options,
      async (client) => {
        const instance = await underKey(options, (write) =>
          client.instances.deploy({ ...saved, ...requestOf(machine, options), ...wanted }, write),
        );
        id = instance.id;
        return instance;
      },
      ONE,
    );
    if (options.wait || options.ssh) await session.request((client) => waitUntilRunning(client, id), true);
    // `user` is left out, because in `options` it is the launch's user: ssh logs in as the container's user.
    if (options.ssh) await sshInto(session.settings, id, [], { identity: options.identity });
  });
  for (const [action, description] of [
    ['start', 'Start a stopped instance on its machine'],
    ['stop', 'Stop an instance; only its disk is billed afterwards'],
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
        .description('Move an instance and its volumes to another host')
        .addHelpText(
          'after',
          '\nThis rents the best machine on another host and relaunches the workload there as\n' +
            'a new instance. The old one must be stopped, have been destroyed in the last\n' +
            '7 days, or be on a host that is gone.',
        )
        .option('--max-price <usd>', 'Maximum price for the whole machine, in USD per hour', amount),
    ),
  ).action(async (id: string, options: WriteOptions & { maxPrice?: number }, command: Command) => {
    const session = openSession(command, { needsKey: true });
    const request = options.maxPrice === undefined ? {} : { max_price_per_hour: options.maxPrice };
    await session.request((client) => untilSaved(client, id, remark), true);
    await show(
      session,
      options,
      (client) => underKey(options, (write) => client.instances.move(id, request, write)),
      ONE,
    );
  });
  withOutput(
    program.command('launch <instance>').description("Show an instance's launch settings and deadlines"),
  ).action((id: string, options: Output, command: Command) =>
    show(openSession(command, { needsKey: true }), options, (client) => client.instances.launch(id), LAUNCHED),
  );
  withKey(withOutput(program.command('destroy <instance>').description('Destroy an instance and erase its disk')))
    .option('-y, --yes', "Don't ask for confirmation")
    .option('--ensure', 'Succeed if the instance is already destroyed')
    .action(destroy);
}

/**
 * Returns a function that queries the instances. Because a watched list is queried often, it fetches names only when
 * there are new instances, and runtimes only if there are any.
 */
function lister({ json, quiet, label }: Format & { label?: string }): (client: GpuClient) => Promise<DetailedList> {
  let idsWithout = '';
  let names: ReadonlyMap<string, string> = new Map();
  return async (client) => {
    const list = await client.instances.list({ ...(label !== undefined && { labels: label }) });
    if (json || quiet) return list;
    const ids = list.data.map(({ id }) => id);
    const [known, runtimes] = await Promise.all([
      ids.every((id) => names.has(id)) ? names : orNull(namesOf(client)),
      ids.join(' ') === idsWithout ? null : orNull(client.instances.runtimes()),
    ]);
    names = known ?? names;
    if (runtimes !== null) idsWithout = runtimes.size === 0 ? ids.join(' ') : '';
    const data = list.data.map((instance) => {
      const name = names.get(instance.id);
      return { ...instance, ...(name !== undefined && { name }), ...runtimeOf(runtimes?.get(instance.id)) };
    });
    return { ...list, data };
  };
}

function showOne(session: Session, id: string, options: Output): Promise<void> {
  return show(session, options, (client) => oneOf(client, session.settings, id, options), ONE);
}

async function oneOf(client: GpuClient, settings: Settings, id: string, format: Format): Promise<Instance & Extras> {
  const instance = await client.instances.get(id);
  if (format.json || format.quiet) return instance;
  const [runtime, serviceCredit, details, volumes] = await Promise.all([
    orNull(client.instances.runtime(id)),
    orNull(serviceCreditSince(settings, instance.created_at, id)),
    orNull(detailsOf(client, id)),
    orNull(attachedOf(client, id)),
  ]);
  const more = { ...(serviceCredit ? { serviceCredit } : {}), ...details, ...(volumes && { volumes }) };
  return { ...instance, ...runtimeOf(runtime), ...more };
}

function runtimeOf(runtime: Runtime | null | undefined): Extras {
  return runtime ? { runtime } : {};
}

async function destroy(
  id: string,
  options: WriteOptions & { yes?: boolean; ensure?: boolean },
  command: Command,
): Promise<void> {
  if (!options.yes && !canPrompt()) {
    throw new Failure(EXIT.usage, "destroy erases the instance's disk; confirm with --yes");
  }
  const session = openSession(command, { needsKey: true });
  if (!options.yes) {
    const { body } = await session.request((client) => client.instances.get(id));
    const what = `${body.id} (${body.status}, ${body.num_gpus} x ${body.gpu} in ${body.region}, ${body.template})`;
    if (!(await confirm(`Destroy ${what} and erase its ${body.disk_gb} GB disk?`))) {
      throw new Failure(EXIT.usage, 'not destroyed');
    }
  }
  const view = {
    lines: (body: { id: string }) => [done(`${body.id} has been destroyed`)],
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
    .option('--json', "Print the service's JSON response unchanged")
    .option('-q, --quiet', 'Print only the instance id');
}

function withKey(command: Command): Command {
  return command.option(
    '--idempotency-key <key>',
    'Idempotency key; repeated requests within 24 hours return the first response',
    visibleAscii,
  );
}

/** Checks that a key can be sent in a header. The service checks its length. */
function visibleAscii(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new InvalidArgumentError('must contain only visible ASCII characters, with no spaces.');
  return key;
}

/**
 * Sends a write with an idempotency key created in advance, so that the user can find out the result after an
 * interruption.
 */
async function underKey<Body>(
  { idempotencyKey = randomUUID() }: WriteOptions,
  send: (write: { idempotencyKey: string; signal: AbortSignal }) => Promise<Body>,
): Promise<Body> {
  const controller = new AbortController();
  const interrupt = () => {
    const how = `\`gpu instances\` lists your instances; the same command with --idempotency-key ${idempotencyKey} returns the first response, or sends the request now`;
    controller.abort(new Failure(EXIT.interrupted, `interrupted; the service may have executed the request: ${how}`));
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

function fieldsOf(instance: Instance & Extras): [label: string, value: string, style?: Style][] {
  const name = nameOf(instance.id, instance.name);
  return [
    ['Instance', instance.id, 'cyan'],
    ...(name === null ? [] : [['Name', name] satisfies [string, string]]),
    ['Status', instance.status, STYLE_OF[instance.status]],
    ['GPU', `${instance.num_gpus} x ${instance.gpu}`],
    ['Region', instance.region],
    ['Price', `${formatUsd(instance.price_hr)} USD per hour (${instance.type})`],
    ...(instance.serviceCredit === undefined
      ? []
      : [
          ['Service credit', `${formatUsd(instance.serviceCredit)} USD for undelivered service`] satisfies [
            string,
            string,
          ],
        ]),
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

/** Returns an instance's name, or null if it has none and is therefore shown by its id. */
function nameOf(id: string, name: string | undefined): string | null {
  return name === undefined || name === id ? null : name;
}

function containerOf({ runtime }: Extras): [label: string, value: string][] {
  if (runtime === undefined) return [];
  const seenAt = runtime.lastSeenAt === null ? 'never' : readableWithAge(runtime.lastSeenAt);
  const exitCode = describeExitCode(runtime);
  return [
    ['Container', describeRuntime(runtime)],
    ...(exitCode === null ? [] : [['Exit code', exitCode] satisfies [string, string]]),
    ...(runtime.reachable ? [] : [['Last seen', seenAt] satisfies [string, string]]),
  ];
}

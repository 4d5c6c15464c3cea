import type { VariablesOf } from 'gql.tada';
import type { Deploy } from '../graph/documents.js';
import { requirementsOf } from './labels.js';
import { inQuotes, jsonText, shellWord, stringLiteral } from './quoting.js';

/** A rental in the form that GraphQL accepts. */
export type Order = Omit<VariablesOf<typeof Deploy>['input'], 'idempotencyKey' | 'maxPricePerHour'>;

/** Ways to rent the same thing without this page. */
export const WAYS = ['gpu', 'curl', 'python', 'graphql'] as const;
export type Way = (typeof WAYS)[number];

/** The REST names of the modes. */
const TYPES = { ON_DEMAND: 'od', INTERRUPTIBLE: 'interruptible', RESERVED: 'res' } as const;
const MINUTES_PER_HOUR = 60;

/**
 * Returns a command or request that rents exactly this and is ready to run. None of them contains a key. All read it
 * from GPU_API_KEY, except for GraphQL, which consists only of the document. `baseUrl` is the REST base URL, including
 * its `/v1`.
 */
export function sameAs(way: Way, order: Order, baseUrl: string): string {
  return { gpu: gpuCommand, curl: curlCommand, python: pythonText, graphql: graphqlDocument }[way](order, baseUrl);
}

function gpuCommand(order: Order, baseUrl: string): string {
  const { machineId, template, diskGb, mode, launch, stopAt, destroyAt, spendLimit, stopWhenIdle, volumes, labels } =
    order;
  const options: [option: string, value: string][] = [];
  const add = (option: string, value: string | number | null | undefined) => {
    if (value !== null && value !== undefined) options.push([option, String(value)]);
  };
  add('--template', template);
  add('--disk-gb', diskGb);
  if (mode !== null && mode !== undefined && mode !== 'ON_DEMAND') add('--type', TYPES[mode]);
  add('--name', launch?.name);
  for (const label of requirementsOf(labels ?? {})) add('--label', label);
  for (const [name, value] of variablesOf(order)) add('--env', `${name}=${value}`);
  for (const { secret, variable, file } of launch?.secrets ?? [])
    add(variable == null ? '--secret-file' : '--secret', `${secret}=${variable ?? file}`);
  for (const word of launch?.entrypoint ?? []) add('--entrypoint', word);
  for (const { port, name } of launch?.ports ?? []) add('--port', name == null ? port : `${port}:${name}`);
  for (const port of launch?.tcpPorts ?? []) add('--tcp', port);
  add('--registry-login', launch?.registryLogin);
  add('--user', launch?.user);
  add('--restart', launch?.restart?.toLowerCase());
  add('--on-exit', launch?.onExit?.toLowerCase());
  for (const { id, path } of volumes ?? []) add('--volume', `${id}:${path}`);
  add('--stop-at', stopAt);
  add('--destroy-at', destroyAt);
  add('--spend-limit', spendLimit);
  if (stopWhenIdle != null) add('--stop-when-idle', idleTime(stopWhenIdle));
  const command = launch?.command ?? [];
  return [
    `gpu --base-url ${shellWord(baseUrl)} deploy ${shellWord(machineId)}`,
    // With an equals sign, a value that begins with a hyphen isn't mistaken for another option.
    ...options.map(([option, value]) =>
      value.startsWith('-') ? shellWord(`${option}=${value}`) : `${option} ${shellWord(value)}`,
    ),
    ...(command.length > 0 ? [`-- ${command.map(shellWord).join(' ')}`] : []),
  ].join(' \\\n  ');
}

const idleTime = (minutes: number): string =>
  minutes % MINUTES_PER_HOUR === 0 ? `${minutes / MINUTES_PER_HOUR}h` : `${minutes}m`;

function curlCommand(order: Order, baseUrl: string): string {
  return [
    `curl ${shellWord(`${baseUrl}/instances`)}`,
    `-H "Authorization: Bearer $GPU_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${inQuotes(jsonText(restBody(order)))}`,
  ].join(' \\\n  ');
}

/** Returns the body of `POST /v1/instances`. */
function restBody({ machineId, template, diskGb, mode, launch, ...more }: Order): Record<string, unknown> {
  const { stopAt, destroyAt, spendLimit, stopWhenIdle, volumes, labels } = more;
  const { name, env, secrets, entrypoint, command, ports, tcpPorts, registryLogin, user, restart, onExit } =
    launch ?? {};
  const body = {
    machine_id: machineId,
    template,
    disk_gb: diskGb,
    type: mode == null ? undefined : TYPES[mode],
    name,
    labels,
    env,
    secrets,
    entrypoint,
    command,
    ports: ports?.map(({ port, name: called }) => (called == null ? { port } : { port, name: called })),
    tcp_ports: tcpPorts,
    registry_login: registryLogin,
    user,
    restart: restart?.toLowerCase(),
    on_exit: onExit?.toLowerCase(),
    stop_at: stopAt,
    destroy_at: destroyAt,
    spend_limit: spendLimit,
    stop_when_idle: stopWhenIdle,
    volumes,
  };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== undefined));
}

function pythonText(order: Order, baseUrl: string): string {
  // The REST members have the same names as the SDK's arguments. The JSON written here is also valid Python, because it
  // contains neither null nor booleans.
  const lines = Object.entries(restBody(order)).map(([name, value]) =>
    name === 'machine_id'
      ? `    ${jsonText(value)},`
      : `    ${name}=${jsonText(value, '    ').replaceAll('\n', '\n    ')},`,
  );
  return [
    'import os',
    '',
    'from gpu_rental import Client',
    '',
    `client = Client(os.environ["GPU_API_KEY"], ${stringLiteral(baseUrl)})`,
    'instance = client.instances.deploy(',
    ...lines,
    ')',
    'print(instance.id)',
  ].join('\n');
}

/** Members whose values are GraphQL enum values. */
const ENUMS = new Set(['mode', 'restart', 'onExit']);

function graphqlDocument(order: Order): string {
  const { labels } = order;
  const [variables, head] = areNames(labels)
    ? ['', 'mutation']
    : [`# Variables: ${jsonText({ labels }, '')}\n`, 'mutation ($labels: Labels!)'];
  return `${variables}${head} {\n  deploy(input: ${literal('', order, '  ')}) {\n    id\n    status\n    priceHr\n  }\n}`;
}

/** Whether all label keys can be field names in a document. Otherwise, the labels have to be a variable. */
const areNames = (labels: Order['labels']): boolean =>
  Object.keys(labels ?? {}).every((key) => /^[A-Za-z_]\w*$/.test(key));

/**
 * Formats a GraphQL value. Variable names become field names. Names that aren't valid are rejected, regardless of their
 * source.
 */
function literal(member: string, value: unknown, indent: string): string {
  if (typeof value === 'string') return ENUMS.has(member) && /^[A-Z_]+$/.test(value) ? value : stringLiteral(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each !== 'object'))
      return `[${value.map((each) => literal('', each, deeper)).join(', ')}]`;
    return `[\n${value.map((each) => deeper + literal('', each, deeper)).join('\n')}\n${indent}]`;
  }
  const members = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  // Within variables, every name has a string value.
  const kind = (name: string) => (member === 'env' ? '' : name);
  const lines = members.map(([name, each]) =>
    name === 'labels' && member === '' && !areNames(each)
      ? `${deeper}labels: $labels`
      : `${deeper}${name}: ${literal(kind(name), each, deeper)}`,
  );
  return `{\n${lines.join('\n')}\n${indent}}`;
}

const variablesOf = ({ launch }: Order): [string, string][] =>
  Object.entries((launch?.env ?? {}) as Record<string, string>);

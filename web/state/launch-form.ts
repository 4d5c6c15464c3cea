import type { ResultOf, VariablesOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { joinWords, splitWords } from '../figures/words.js';
import type { OneInstance, Quote } from '../graph/documents.js';
import { texts } from '../texts/en/launch.js';

type LaunchInput = NonNullable<VariablesOf<typeof Quote>['input']['launch']>;
export type Launch = NonNullable<NonNullable<ResultOf<typeof OneInstance>['instance']>['launch']>;

export const RESTARTS = texts.restarts;
export const EXITS = texts.exits;

export interface SecretRow {
  secret: string;
  place: 'variable' | 'file';
  name: string;
}

/** The form fields' content, as typed. */
export interface LaunchForm {
  name: string;
  env: readonly { name: string; value: string }[];
  secrets: readonly SecretRow[];
  entrypoint: string;
  command: string;
  ports: readonly { port: string; name: string }[];
  tcpPorts: readonly { port: string }[];
  registryLogin: string;
  user: string;
  restart: keyof typeof RESTARTS;
  onExit: keyof typeof EXITS;
  /** The volumes aren't part of the launch, because an instance keeps them for its lifetime. */
  volumes: readonly VolumeRow[];
}

export interface VolumeRow {
  id: string;
  path: string;
}

export const EMPTY: LaunchForm = {
  name: '',
  env: [],
  secrets: [],
  entrypoint: '',
  command: '',
  ports: [],
  tcpPorts: [],
  registryLogin: '',
  user: '',
  restart: 'ALWAYS',
  onExit: 'KEEP',
  volumes: [],
};

/** Returns the launch in the form, or the form's error. Bounds are checked by the service. */
export function launchOf(form: LaunchForm): { launch: LaunchInput | null; fault: string | null } {
  const command = splitWords(form.command);
  const entrypoint = splitWords(form.entrypoint);
  if (command === null || entrypoint === null) return { launch: null, fault: texts.openQuote };
  const odd = [...form.ports, ...form.tcpPorts].find(({ port }) => port !== '' && !/^\d{1,5}$/.test(port));
  if (odd !== undefined) return { launch: null, fault: texts.badPort };
  const twice = form.env.find(({ name }, at) => name !== '' && form.env.findIndex((one) => one.name === name) < at);
  if (twice !== undefined) return { launch: null, fault: texts.twice(visible(twice.name)) };
  const env = form.env.filter(({ name }) => name !== '');
  const secrets = form.secrets.filter(({ secret, name }) => secret !== '' && name !== '');
  const ports = form.ports.filter(({ port }) => port !== '');
  const tcpPorts = form.tcpPorts.filter(({ port }) => port !== '').map(({ port }) => Number(port));
  const launch: LaunchInput = {
    ...(form.name !== '' && { name: form.name }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map(({ name, value }) => [name, value])) }),
    ...(secrets.length > 0 && { secrets: secrets.map(({ secret, place, name }) => ({ secret, [place]: name })) }),
    ...(entrypoint.length > 0 && { entrypoint }),
    ...(command.length > 0 && { command }),
    ...(ports.length > 0 && { ports: ports.map(({ port, name }) => ({ port: Number(port), name: name || null })) }),
    ...(tcpPorts.length > 0 && { tcpPorts }),
    ...(form.registryLogin !== '' && { registryLogin: form.registryLogin }),
    ...(form.user.trim() !== '' && { user: form.user.trim() }),
    ...(form.restart !== 'ALWAYS' && { restart: form.restart }),
    ...(form.onExit !== 'KEEP' && { onExit: form.onExit }),
  };
  return { launch: Object.keys(launch).length === 0 ? null : launch, fault: null };
}

/** Returns the chosen volumes. */
export function volumesOf({ volumes }: LaunchForm): VolumeRow[] {
  return volumes.filter(({ id }) => id !== '');
}

/** Returns the form for repeating a launch. */
export function formOf(launch: Launch): LaunchForm {
  return {
    ...EMPTY,
    name: launch.name ?? '',
    env: envOf(launch).map(([name, value]) => ({ name, value })),
    secrets: launch.secrets.map(({ secret, variable, file }) => ({
      secret,
      place: variable === null ? 'file' : 'variable',
      name: variable ?? file ?? '',
    })),
    entrypoint: joinWords(launch.entrypoint ?? []),
    command: joinWords(launch.command ?? []),
    ports: launch.ports.map(({ port, name }) => ({ port: String(port), name: name ?? '' })),
    tcpPorts: launch.tcpPorts.map((port) => ({ port: String(port) })),
    registryLogin: launch.registryLogin ?? '',
    user: launch.user ?? '',
    restart: launch.restart,
    onExit: launch.onExit,
  };
}

export const envOf = ({ env }: Launch): [string, string][] => Object.entries(env as Record<string, string>);

/**
 * Bounds for links. Anyone can create a link, so links are limited to a small amount of text that looks like what it
 * is.
 */
const MAX_ROWS = 30;
const MAX_VALUE = 1_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const IMAGE = /^[\x21-\x7e]{1,255}$/;
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const USER = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,64}$/;
const PORT = /^(\d{1,5})(?::([\w .-]{1,40}))?$/;

/** Returns the form filled in by a link's parameters, and the parameters that were left out. */
export function formOfLink(parameters: URLSearchParams): { form: LaunchForm; leftOut: string[] } {
  const leftOut: string[] = [];
  const taken = (name: string, isTaken: boolean): boolean => {
    if (!isTaken) leftOut.push(name.slice(0, 100));
    return isTaken;
  };
  const entries = [...parameters].filter(([, value]) => value !== '');
  const of = (name: string) => entries.filter(([key]) => key === name).map(([, value]) => value);
  const env = entries
    .filter(([key]) => key.startsWith('env.'))
    .map(([key, value]) => ({ name: key.slice(4), value }))
    .filter(({ name, value }, at) => taken(`env.${name}`, at < MAX_ROWS && VARIABLE.test(name) && isPlain(value)));
  const command = of('command');
  const isCommand = command.length <= MAX_ROWS && command.every(isPlain);
  const form: LaunchForm = {
    ...EMPTY,
    name: of('name').find((name) => taken('name', NAME.test(name))) ?? '',
    user: of('user').find((user) => taken('user', USER.test(user))) ?? '',
    env: [...new Map(env.map((row) => [row.name, row])).values()],
    // Which of their secrets to use is up to the users themselves.
    secrets: of('secret')
      .filter((name, at) => taken('secret', at < MAX_ROWS && VARIABLE.test(name)))
      .map((name) => ({ secret: '', place: 'variable', name })),
    command: command.length > 0 && taken('command', isCommand) ? joinWords(command) : '',
    ports: of('port')
      .map((text, at) => {
        const [, port, name = ''] = PORT.exec(text) ?? [];
        return taken('port', at < MAX_ROWS && port !== undefined) && port !== undefined ? { port, name } : null;
      })
      .filter((row) => row !== null),
  };
  const what = imageOfLink(parameters);
  if (what === null && (of('template').length > 0 || of('image').length > 0)) leftOut.push('image');
  return { form, leftOut };
}

/** Returns a link's template or image, or null if it is missing or invalid. */
export function imageOfLink(parameters: URLSearchParams): string | null {
  const image = parameters.get('template') || parameters.get('image') || '';
  return IMAGE.test(image) ? image : null;
}

/** Returns whether the text looks like what it is and fits on a single line. */
const isPlain = (value: string): boolean => value.length <= MAX_VALUE && !/\t/.test(value) && visible(value) === value;

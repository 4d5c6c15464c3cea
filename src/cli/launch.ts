import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DeployRequest } from '../client/index.js';
import { EXIT, Failure } from './failure.js';

type Secret = NonNullable<DeployRequest['secrets']>[number];
type Port = NonNullable<DeployRequest['ports']>[number];

const RESTARTS = ['always', 'on_failure', 'never'] as const satisfies readonly DeployRequest['restart'][];
const EXIT_ACTIONS = ['keep', 'stop', 'destroy'] as const satisfies readonly DeployRequest['on_exit'][];

/** The options that `withLaunch` adds. */
export interface LaunchOptions {
  name?: string;
  env?: Record<string, string>;
  envFile?: string;
  secret?: Secret[];
  secretFile?: Secret[];
  entrypoint?: string[];
  port?: Port[];
  tcp?: number[];
  registryLogin?: string;
  user?: string;
  restart?: (typeof RESTARTS)[number];
  onExit?: (typeof EXIT_ACTIONS)[number];
}

/** Adds the options of a command that define the workload. */
export function withLaunch(command: Command): Command {
  return withPlainLaunch(command)
    .option('--entrypoint <word>', "instead of the image's entrypoint (repeatable, a word each)", addWord)
    .addOption(
      new Option('--restart <policy>', 'start the command again when it ends (default: always)').choices(RESTARTS),
    )
    .addOption(
      new Option('--on-exit <action>', 'then, once it is not started again (default: keep)').choices(EXIT_ACTIONS),
    );
}

/** Adds the options that apply to any command. */
export function withPlainLaunch(command: Command): Command {
  return command
    .option('--name <name>', 'what you call the instance: lower-case letters, digits, hyphens')
    .option('-e, --env <name=value>', 'a variable; NAME alone takes its value from here (repeatable)', addVariable)
    .option('--env-file <file>', 'variables, one NAME=value a line')
    .option('--secret <secret=variable>', 'a secret of yours as a variable (repeatable)', addSecret('variable'))
    .option('--secret-file <secret=file>', 'a secret as a file below /run/secrets (repeatable)', addSecret('file'))
    .option('--port <port[:name]>', 'a port that serves HTTP, with a name for people (repeatable)', addPort)
    .option('--tcp <port>', 'a port that anybody may reach by TCP, at an address of the service (repeatable)', addTcp)
    .option('--registry-login <name>', 'pull the image with this registry login of yours')
    .option(
      '--user <user>',
      "the container's user: root, or a name or number with an optional :group (default: the image's)",
    );
}

/** Returns the members of the request for the options and the command after `--`. */
export function launchOf(options: LaunchOptions, command: readonly string[]): Partial<DeployRequest> {
  const { name, entrypoint, port: ports, tcp: tcpPorts, registryLogin, user, restart, onExit } = options;
  const env = { ...(options.envFile !== undefined && readVariables(options.envFile)), ...options.env };
  const secrets = [...(options.secret ?? []), ...(options.secretFile ?? [])];
  return {
    ...(name !== undefined && { name }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(secrets.length > 0 && { secrets }),
    ...(entrypoint !== undefined && { entrypoint }),
    ...(command.length > 0 && { command: [...command] }),
    ...(ports !== undefined && { ports }),
    ...(tcpPorts !== undefined && { tcp_ports: tcpPorts }),
    ...(registryLogin !== undefined && { registry_login: registryLogin }),
    ...(user !== undefined && { user }),
    ...(restart !== undefined && { restart }),
    ...(onExit !== undefined && { on_exit: onExit }),
  };
}

function readVariables(file: string): Record<string, string> {
  try {
    return parseEnv(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new Failure(EXIT.usage, `--env-file ${file} can't be read: ${why}`);
  }
}

function addVariable(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)(?:=([\s\S]*))?$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('must be NAME=value, or NAME.');
  const given = value ?? process.env[name];
  if (given === undefined) throw new InvalidArgumentError(`${name} is not set here.`);
  return { ...before, [name]: given };
}

function addSecret(place: 'variable' | 'file') {
  return (text: string, before: Secret[] = []): Secret[] => {
    const [, secret, target] = /^([^=]+)=([^=]+)$/.exec(text) ?? [];
    if (secret === undefined) throw new InvalidArgumentError(`must be the secret's name, = and a ${place}.`);
    return [...before, { secret, [place]: target! }];
  };
}

function addPort(text: string, before: Port[] = []): Port[] {
  const [, port, name] = /^(\d{1,5})(?::(.+))?$/.exec(text) ?? [];
  if (port === undefined) throw new InvalidArgumentError('must be a port, or a port, a colon and a name.');
  return [...before, { port: Number(port), ...(name !== undefined && { name }) }];
}

function addTcp(text: string, before: number[] = []): number[] {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('must be a port.');
  return [...before, Number(text)];
}

function addWord(word: string, before: string[] = []): string[] {
  return [...before, word];
}

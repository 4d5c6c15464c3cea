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

/** Adds all launch options to a command. */
export function withLaunch(command: Command): Command {
  return withPlainLaunch(command)
    .option('--entrypoint <word>', "Replace the image's entrypoint; repeat the option for each word", addWord)
    .addOption(
      new Option('--restart <policy>', 'When to restart the command after it exits; always by default').choices(
        RESTARTS,
      ),
    )
    .addOption(
      new Option(
        '--on-exit <action>',
        'What to do with the instance when the command is not restarted; keep by default',
      ).choices(EXIT_ACTIONS),
    );
}

/** Adds the launch options that also apply to `gpu run`. */
export function withPlainLaunch(command: Command): Command {
  return command
    .option('--name <name>', 'Instance name: lowercase letters, digits and hyphens (default: the instance id)')
    .option(
      '-e, --env <name=value>',
      'Set an environment variable; NAME without a value copies yours; repeatable',
      addVariable,
    )
    .option('--env-file <file>', 'Read environment variables from a file, one NAME=value per line')
    .option(
      '--secret <secret=variable>',
      'Pass one of your secrets as an environment variable; repeatable',
      addSecret('variable'),
    )
    .option('--secret-file <secret=file>', 'Pass a secret as a file under /run/secrets; repeatable', addSecret('file'))
    .option('--port <port[:name]>', 'Port that serves HTTP, with an optional display name; repeatable', addPort)
    .option('--tcp <port>', 'Port that anyone can reach over TCP through the service; repeatable', addTcp)
    .option(
      '--registry-login <name>',
      'Pull the image with one of your registry logins (`gpu secret create --registry`)',
    )
    .option(
      '--user <user>',
      "Container user: root, or a name or number with an optional :group (default: the image's)",
    );
}

/** Returns the request fields set by the options and by the command after `--`. */
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
    const why = code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new Failure(EXIT.usage, `--env-file ${file} can't be read: ${why}`);
  }
}

function addVariable(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)(?:=([\s\S]*))?$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('must be NAME=value or NAME.');
  const given = value ?? process.env[name];
  if (given === undefined) throw new InvalidArgumentError(`${name} is not set in your environment.`);
  return { ...before, [name]: given };
}

function addSecret(place: 'variable' | 'file') {
  return (text: string, before: Secret[] = []): Secret[] => {
    const [, secret, target] = /^([^=]+)=([^=]+)$/.exec(text) ?? [];
    if (secret === undefined || target === undefined)
      throw new InvalidArgumentError(`must be a secret's name, = and a ${place}.`);
    return [...before, { secret, [place]: target }];
  };
}

function addPort(text: string, before: Port[] = []): Port[] {
  const [, port, name] = /^(\d{1,5})(?::(.+))?$/.exec(text) ?? [];
  if (port === undefined) throw new InvalidArgumentError('must be PORT or PORT:NAME.');
  return [...before, { port: Number(port), ...(name !== undefined && { name }) }];
}

function addTcp(text: string, before: number[] = []): number[] {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('must be a port number.');
  return [...before, Number(text)];
}

function addWord(word: string, before: string[] = []): string[] {
  return [...before, word];
}

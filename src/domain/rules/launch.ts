import { DomainError, type ErrorCode } from './errors.js';
import type { PricingMode } from './price-rule.js';

/** When a container whose command ended is started again. */
export const RESTART_POLICIES = ['ALWAYS', 'ON_FAILURE', 'NEVER'] as const;
export type RestartPolicy = (typeof RESTART_POLICIES)[number];

/** What becomes of the instance once its command has ended and is not started again. */
export const EXIT_ACTIONS = ['KEEP', 'STOP', 'DESTROY'] as const;
export type ExitAction = (typeof EXIT_ACTIONS)[number];

/** A secret of the account that the container gets, either as a variable or as a file below /run/secrets. */
export interface LaunchSecret {
  /** Name of the secret. */
  secret: string;
  variable?: string | null;
  file?: string | null;
}

/** A port that a program in the container serves HTTP on. */
export interface LaunchPort {
  port: number;
  /** For people, such as JupyterLab. */
  name?: string | null;
}

/** What a renter runs, beside template and disk. A member left out has its default and is not stored. */
export interface Launch {
  name?: string;
  env?: Record<string, string>;
  secrets?: LaunchSecret[];
  entrypoint?: string[];
  command?: string[];
  ports?: LaunchPort[];
  /** Ports that are reached by TCP, at ports of the gateways' own. */
  tcpPorts?: number[];
  registryLogin?: string;
  restart?: RestartPolicy;
  onExit?: ExitAction;
}

const DOCKER_HUB = 'docker.io';
/** Variables that the service sets, which a launch can't. */
const RESERVED_VARIABLES = /^(GPU_INSTANCE_ID|GPU_COUNT|SSH_PUBLIC_KEYS)$/;

/** Refuses with invalid_request members that contradict each other. */
export function checkLaunch(
  { env = {}, secrets = [], ports = [], tcpPorts = [], restart = 'ALWAYS', onExit = 'KEEP' }: Launch,
  mode: PricingMode,
): void {
  // Nobody decides at that moment whether to pay for leaving the term early.
  if (onExit === 'DESTROY' && mode === 'RESERVED')
    throw refusal(
      'onExit',
      'a reserved instance can not be destroyed at the end of its command: that may cost its discount',
    );
  if (onExit !== 'KEEP' && restart === 'ALWAYS')
    throw refusal(
      'onExit',
      'a command that is always started again never stops or destroys its instance: choose another restart',
    );
  const places = secrets.map(({ variable, file }) => variable ?? `/run/secrets/${file}`);
  const repeated = firstRepeated([...Object.keys(env), ...places]);
  if (repeated !== undefined) throw refusal('secrets', `secrets must not set ${repeated} twice`);
  const reserved = [...Object.keys(env), ...places].find((name) => RESERVED_VARIABLES.test(name));
  if (reserved !== undefined) throw refusal('env', `env must not set ${reserved}: the service sets it`);
  const port = firstRepeated(ports.map((each) => each.port));
  if (port !== undefined) throw refusal('ports', `ports must not name port ${port} twice`);
  const tcpPort = firstRepeated(tcpPorts);
  if (tcpPort !== undefined) throw refusal('tcpPorts', `tcpPorts must not name port ${tcpPort} twice`);
}

/**
 * Refuses a launch that the machine's host agent is too old for: it would start the container without what it does not
 * understand. Name, variables, command and ports every agent understands.
 */
export function checkAgent(
  { id, hasOldAgent }: { id: string; hasOldAgent: boolean },
  launch: Launch,
  code: ErrorCode,
): void {
  if (!hasOldAgent || !needsAgent(launch)) return;
  const message = `the host agent of machine ${id} is too old for an entrypoint, secrets, a registry login and a restart policy`;
  throw new DomainError(code, message, { reason: 'host_agent' });
}

/** Whether a host agent of a version before launches would start the container without part of it. */
export function needsAgent({ entrypoint, secrets, registryLogin, restart }: Launch): boolean {
  return [entrypoint, secrets, registryLogin, restart].some((member) => member !== undefined);
}

/** The registry that an image is pulled from, as container engines read its name. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const namesRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first));
  const registry = namesRegistry ? first.toLowerCase() : DOCKER_HUB;
  return registry === 'index.docker.io' ? DOCKER_HUB : registry;
}

/** The secrets that a start needs, by name; each once. */
export function secretsOf({ secrets = [], registryLogin }: Launch): string[] {
  const names = secrets.map(({ secret }) => secret);
  return [...new Set(registryLogin === undefined ? names : [...names, registryLogin])];
}

function firstRepeated<T>(values: readonly T[]): T | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}

function refusal(field: string, message: string): DomainError {
  return new DomainError('invalid_request', message, { field });
}

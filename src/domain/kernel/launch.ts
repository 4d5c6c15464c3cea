import { DomainError, type ErrorCode } from './errors.js';
import type { PricingMode } from './price-rule.js';

/** When a container is restarted after its command has ended. */
export const RESTART_POLICIES = ['ALWAYS', 'ON_FAILURE', 'NEVER'] as const;
export type RestartPolicy = (typeof RESTART_POLICIES)[number];

/** Actions that can be taken on an instance once its command has ended and won't be restarted. */
export const EXIT_ACTIONS = ['KEEP', 'STOP', 'DESTROY'] as const;
export type ExitAction = (typeof EXIT_ACTIONS)[number];

/** One of the account's secrets, passed to the container either as a variable or as a file in /run/secrets. */
export interface LaunchSecret {
  /** Name of the account's secret. */
  secret: string;
  variable?: string | null;
  file?: string | null;
}

/** A port on which a program in the container serves HTTP. */
export interface LaunchPort {
  port: number;
  /** Display name, such as JupyterLab. */
  name?: string | null;
}

/**
 * A renter's workload, on top of the template and the disk. An omitted property has its default value and isn't stored.
 */
export interface Launch {
  name?: string;
  env?: Record<string, string>;
  secrets?: LaunchSecret[];
  entrypoint?: string[];
  command?: string[];
  ports?: LaunchPort[];
  /** Container ports that are reachable over TCP through gateway ports. */
  tcpPorts?: number[];
  registryLogin?: string;
  /** The user that the command runs as, in the form of Docker's `--user` option. Defaults to the image's user. */
  user?: string;
  restart?: RestartPolicy;
  onExit?: ExitAction;
}

const DOCKER_HUB = 'docker.io';
/** Matches variables that are set by the service, so a launch must not set them. */
const RESERVED_VARIABLES = /^(GPU_INSTANCE_ID|GPU_COUNT|SSH_PUBLIC_KEYS)$/;

/** Throws invalid_request if any properties of the launch contradict each other. */
export function checkLaunch(
  { env = {}, secrets = [], ports = [], tcpPorts = [], restart = 'ALWAYS', onExit = 'KEEP' }: Launch,
  mode: PricingMode,
): void {
  // Without this check, the term could end early even though the renter never agreed to pay for that.
  if (onExit === 'DESTROY' && mode === 'RESERVED')
    throw refusal(
      'onExit',
      "a reserved instance can't be destroyed when its command ends, because that may cost its discount",
    );
  if (onExit !== 'KEEP' && restart === 'ALWAYS')
    throw refusal(
      'onExit',
      'a command that is always restarted never stops or destroys its instance; choose another restart',
    );
  const places = secrets.map(({ variable, file }) => variable ?? `/run/secrets/${file}`);
  const repeated = firstRepeated([...Object.keys(env), ...places]);
  if (repeated !== undefined) throw refusal('secrets', `secrets must not set ${repeated} twice`);
  const reserved = [...Object.keys(env), ...places].find((name) => RESERVED_VARIABLES.test(name));
  if (reserved !== undefined) throw refusal('env', `env must not set ${reserved}, which the service sets`);
  const port = firstRepeated(ports.map((each) => each.port));
  if (port !== undefined) throw refusal('ports', `ports must not repeat port ${port}`);
  const tcpPort = firstRepeated(tcpPorts);
  if (tcpPort !== undefined) throw refusal('tcpPorts', `tcpPorts must not repeat port ${tcpPort}`);
}

/** Launch features supported by a machine's host agent. */
export interface AgentOfMachine {
  /** Id of the machine. */
  id: string;
  /** Whether the agent predates launches. */
  hasOldAgent: boolean;
  /** Whether the agent can start containers as the user a launch specifies. True if there is no agent. */
  supportsUsers: boolean;
}

/**
 * Throws if the machine's host agent is too old for the launch, because such an agent would start the container without
 * the parts it doesn't support. Every agent supports the name, variables, command and ports.
 */
export function checkAgent({ id, hasOldAgent, supportsUsers }: AgentOfMachine, launch: Launch, code: ErrorCode): void {
  const isOld = hasOldAgent && needsAgent(launch);
  if (!isOld && (supportsUsers || launch.user === undefined)) return;
  const parts = isOld ? 'an entrypoint, secrets, a registry login or a restart policy' : 'a user';
  throw new DomainError(code, `the host agent of machine ${id} is too old for ${parts}`, { reason: 'host_agent' });
}

/** Whether an agent that predates launches would start the container without part of the launch. */
export function needsAgent({ entrypoint, secrets, registryLogin, restart }: Launch): boolean {
  return [entrypoint, secrets, registryLogin, restart].some((member) => member !== undefined);
}

/** Returns the registry from which an image is pulled, interpreting the image's name the way container engines do. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const namesRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first));
  const registry = namesRegistry ? first.toLowerCase() : DOCKER_HUB;
  return registry === 'index.docker.io' ? DOCKER_HUB : registry;
}

/** Returns the names of the secrets needed to start, without duplicates. */
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

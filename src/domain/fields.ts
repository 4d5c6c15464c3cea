import { z } from 'zod';
import { nearestName } from '../std/nearest-name.js';
import { MAX_SSH_KEY_LENGTH } from './accounts/rules/ssh-key.js';
import { IMAGE_REFERENCE, REGISTRY_HOST } from './instances/rules/image-reference.js';
import { MAX_TCP_PORTS } from './instances/rules/tcp-ports.js';
import { CONTAINER_USER_MUST, isContainerUser, MAX_CONTAINER_USER } from './kernel/container-user.js';
import { CUDA_VERSION } from './kernel/cuda.js';
import { DEADLINE_TEXT, isDeadlineText, MAX_DAYS_AHEAD } from './kernel/deadline.js';
import { DomainError, type ErrorCode } from './kernel/errors.js';
import { EVENT_TYPES, type EventType } from './kernel/events.js';
import { GPU_TIERS } from './kernel/gpu-tier.js';
import { MAX_IDLE_MINUTES, MIN_IDLE_MINUTES } from './kernel/idle.js';
import { inputFault, shortened } from './kernel/input-fault.js';
import { EXIT_ACTIONS, type LaunchPort, type LaunchSecret, RESTART_POLICIES } from './kernel/launch.js';
import { INSTANCE_STATUSES } from './kernel/lifecycle.js';
import { microNotAbove, microOfUsd } from './kernel/money.js';
import { parseNetwork } from './kernel/networks.js';
import { SCOPES } from './kernel/scopes.js';
import { INSTANT_TEXT, parseInstant } from './kernel/time.js';
import { MAX_VOLUME_GB, MAX_VOLUME_NAME, VOLUME_ID } from './kernel/volume.js';
import { isWebPath } from './kernel/web-site.js';
import { DEFAULT_POINTS, MAX_POINTS } from './samples/rules/samples.js';
import { MAX_ATTACHED, type VolumeAtPath, volumePathFault } from './volumes/rules/volume-attachment.js';
import { isMailAddress } from './webhooks/rules/mail.js';
import { isWebhookUrl } from './webhooks/rules/webhook.js';

/**
 * The single definition of an input. Its validation, GraphQL description and default, and OpenAPI schema are all
 * derived from it.
 */
export interface Field<T> {
  schema: z.ZodType<T>;
  /** The bounds as text, to complete "NAME must be …". */
  must: string;
  description: string;
  default?: T;
  /** Error codes that the API contract prescribes for missing and invalid values. Both default to invalid_request. */
  missing?: ErrorCode;
  refusal?: ErrorCode;
}

const MAX_PRICE_USD = 1_000_000;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** Matches text without control characters. PostgreSQL can't store a NUL byte. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches exactly the characters to reject
const PRINTABLE = /^[^\u0000-\u001f\u007f]*$/;
const MAX_LIST = 100;
const NETWORK = 'must be a network or an address such as 203.0.113.0/24 or 2001:db8::/32';
/** Maximum number of networks per API key. */
const MAX_NETWORKS = 50;
/**
 * Maximum combined size of a launch's variables, in bytes. The arguments of its entrypoint and of its command have the
 * same limit.
 */
const MAX_LAUNCH_BYTES = 32_000;
const MAX_VARIABLES = 100;
const MAX_ARGUMENTS = 1_000;
export const MAX_LAUNCH_SECRETS = 50;
export const MAX_LAUNCH_PORTS = 20;
const MAX_SECRET_BYTES = 32_000;
/** Matches variable names. Excludes `__proto__`, which can't be an ordinary property of a JavaScript object. */
const VARIABLE = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const SECRET_NAME_MUST =
  'a name of 1 to 63 letters, digits, dots, hyphens and underscores that starts with a letter or digit';
const LAUNCH_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PROCESS_TEXT = 'must be text without NUL';
const processText = z.string(PROCESS_TEXT).refine(isProcessText, PROCESS_TEXT);
const secretName = entryText(SECRET_NAME, SECRET_NAME_MUST);
const VARIABLE_MUST = "a name of 1 to 128 letters, digits and underscores that doesn't start with a digit";
const variableName = entryText(VARIABLE, VARIABLE_MUST);
const PORT = 'must be a whole number from 1 to 65535';
const portNumber = z.int(PORT).min(1, PORT).max(65_535, PORT);
const SLUG = 'must be a string of 1 to 64 characters';
const slug = z.string(SLUG).min(1, SLUG).max(64, SLUG).regex(PRINTABLE, SLUG);

export const fields = {
  gpu: text(1, 64, 'Slug or name of a GPU model, as in the price sheet. A name such as H100 matches all its models.'),
  region: text(1, 64, 'Region code.'),
  numMin: { ...wholeNumber(1, 8, 'Minimum number of GPUs in the machine.'), default: 1 },
  priceMax: price('Maximum on-demand price in USD per hour for the whole machine.'),
  limit: { ...wholeNumber(1, 100, 'Maximum number of offers returned.'), default: 25 },
  gpus: list(slug, 'Slugs or names of GPU models. An offer matches if it has any of them; an empty list matches all.'),
  regions: list(slug, 'Region codes. An offer matches if it is in any of them; an empty list matches all.'),
  preferredGpus: list(
    slug,
    'Slugs of the acceptable GPU models, most preferred first. An empty list accepts any model, cheapest first.',
  ),
  preferredRegions: list(
    slug,
    'Codes of the acceptable regions, most preferred first. An empty list accepts any region, cheapest first.',
  ),
  tiers: choices(
    GPU_TIERS,
    'GPU tiers',
    'Classes of GPU models. An offer matches if it has any of them; an empty list matches all.',
  ),
  statuses: choices(
    INSTANCE_STATUSES,
    'states',
    'Current states. An instance matches if it has any of them; an empty list matches all.',
  ),
  stopReasons: choices(
    [
      'USER',
      'PREEMPTED',
      'BALANCE_EXHAUSTED',
      'ACCOUNT_SUSPENDED',
      'OPERATOR',
      'START_FAILED',
      'COMMAND_ENDED',
      'DEADLINE',
      'SPEND_LIMIT',
      'IDLE',
    ],
    'stop reasons',
    'Stop reasons. An instance matches if it has any of them; an empty list matches all, including running instances.',
  ),
  modes: choices(
    ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'],
    'pricing modes',
    'Pricing modes. An instance matches if it has any of them; an empty list matches all.',
  ),
  vramGbMin: wholeNumber(1, 10_000, 'Minimum video memory per GPU, in GB.'),
  numMax: wholeNumber(1, 8, 'Maximum number of GPUs in the machine.'),
  cudaMin: {
    schema: z.string().regex(CUDA_VERSION),
    must: 'a CUDA version such as 12.4',
    description: 'Minimum CUDA version that the driver supports, such as 12.4. AMD machines never match.',
  },
  reliabilityMin: {
    schema: z.number().min(0).max(1),
    must: 'a number from 0 to 1',
    description: 'Minimum uptime of the machine, as a fraction.',
  },
  vcpusMin: wholeNumber(1, 100_000, 'Minimum number of virtual CPUs.'),
  ramGbMin: wholeNumber(1, 1_000_000, 'Minimum memory in GB.'),
  diskGbMin: wholeNumber(1, 1_000_000, 'Minimum free disk for a new instance, in GB.'),
  pricePerGpuMax: price('Maximum on-demand price in USD per GPU-hour, whichever mode you rent in.'),
  maxPricePerHour: price('Maximum price in USD per hour for the whole machine in the chosen mode, excluding disk.'),
  machineId: { ...text(1, 64, 'Id of the machine to rent, from the offers.'), missing: 'missing_machine' },
  mode: {
    schema: z.enum(['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED']),
    must: 'a pricing mode',
    description: 'Pricing mode of the instance.',
    default: 'ON_DEMAND' as const,
  },
  action: {
    schema: z.enum(['START', 'STOP', 'DESTROY']),
    must: 'an action',
    description: 'Action to perform on the instance.',
    missing: 'bad_action',
    refusal: 'bad_action',
  },
  instanceId: {
    schema: z.string(),
    must: 'a string',
    description: 'Instance id: `i-` and 8 hex characters. Any other string is an unknown instance.',
  },
  template: {
    schema: z.string().min(1).max(255).regex(IMAGE_REFERENCE),
    must: 'a string of 1 to 255 characters, the slug of a template or an OCI image reference',
    description:
      "A template slug or an OCI image reference. The machine's host agent pulls the image and runs it in a container. On a machine without an agent, it is only recorded.",
    default: 'pytorch',
  },
  diskGb: {
    ...wholeNumber(1, 1_000_000, "Disk size in GB, from 1 to the machine's free disk (the offer's disk)."),
    default: 50,
  },
  idempotencyKey: {
    schema: z.string().min(1).max(255).regex(VISIBLE_ASCII),
    must: 'a string of 1 to 255 visible ASCII characters',
    description:
      'A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect.',
  },
  launchName: {
    schema: z.string().regex(LAUNCH_NAME),
    must: "a name of 1 to 63 lowercase letters, digits and hyphens that doesn't start or end with a hyphen",
    description: "Your name for the instance; doesn't have to be unique. By default, the instance id.",
  },
  env: {
    schema: z
      .record(variableName, processText, {
        error: ({ code }) => (code === 'invalid_key' ? `must be ${VARIABLE_MUST}` : undefined),
      })
      .refine((env) => Object.keys(env).length <= MAX_VARIABLES, `must have at most ${MAX_VARIABLES} variables`)
      .refine(
        (env) => bytesOf(Object.entries(env).flat()) <= MAX_LAUNCH_BYTES,
        `must have at most ${MAX_LAUNCH_BYTES} bytes of names and values`,
      ),
    must: `an object of at most ${MAX_VARIABLES} variables and ${MAX_LAUNCH_BYTES} bytes: names of letters, digits and underscores that don't start with a digit, values without NUL`,
    description:
      "Environment variables of the container, by name. They override the template's variables. Variables that the service sets override them.",
  },
  launchSecrets: {
    schema: z
      .array(
        entry({ secret: secretName, variable: variableName.nullish(), file: secretName.nullish() }).refine(
          ({ variable, file }) => (variable == null) !== (file == null),
          'must have either a variable or a file',
        ),
      )
      .max(MAX_LAUNCH_SECRETS) as z.ZodType<LaunchSecret[]>,
    must: `a list of at most ${MAX_LAUNCH_SECRETS}, each with the name of a secret and either a variable or a file name`,
    description:
      'Secrets of the account to pass to the container, each as a variable or as a file below /run/secrets that only root can read.',
  },
  entrypoint: argumentList("Replaces the image's entrypoint. The image's own command is then ignored."),
  command: argumentList("Replaces the image's command, i.e. the arguments of its entrypoint."),
  launchPorts: {
    schema: z
      .array(
        entry({ port: portNumber, name: entryText(/^\P{Cc}{1,40}$/u, 'a string of 1 to 40 characters').nullish() }),
      )
      .max(MAX_LAUNCH_PORTS) as z.ZodType<LaunchPort[]>,
    must: `a list of at most ${MAX_LAUNCH_PORTS} ports from 1 to 65535, each with an optional name of 1 to 40 characters`,
    description: "Ports on which programs in the container serve HTTP, in addition to the template's.",
  },
  volumes: {
    schema: z
      .array(entry({ id: entryText(VOLUME_ID, 'a volume id: v- and 8 hexadecimal digits'), path: volumePath() }))
      .max(MAX_ATTACHED)
      .superRefine(once('id'))
      .superRefine(once('path')) as z.ZodType<VolumeAtPath[]>,
    must: `a list of at most ${MAX_ATTACHED} volumes, each with its id and its own path such as /data`,
    description:
      "Volumes of the account to mount in the container, each at its path. A volume can be in one instance at a time. A volume at /workspace replaces that folder of the instance's own disk.",
  },
  tcpPorts: {
    schema: z.array(portNumber).max(MAX_TCP_PORTS),
    must: `a list of at most ${MAX_TCP_PORTS} ports from 1 to 65535`,
    description:
      'Ports that anyone can reach by TCP. Each gets a port of the service, which the instance keeps until it is destroyed.',
  },
  registryLogin: {
    schema: secretName,
    must: SECRET_NAME_MUST,
    description: 'Name of the registry login, a secret of the account, with which the image is pulled.',
  },
  containerUser: {
    schema: z.string().max(MAX_CONTAINER_USER).refine(isContainerUser),
    must: CONTAINER_USER_MUST,
    description:
      "User of the command, of commands by SSH and of terminals: root, or a name or number as for Docker's `--user`. By default the image's own. Names are read from the image's /etc/passwd and /etc/group. Capabilities and limits don't depend on the user.",
  },
  metricsFrom: instant('Start of the period, inclusive. By default, an hour before the end.'),
  metricsTo: instant('End of the period, exclusive. By default, or if it is in the future, now.'),
  points: {
    ...wholeNumber(1, MAX_POINTS, 'Maximum number of points. If the period has more, adjacent points are merged.'),
    default: DEFAULT_POINTS,
  },
  restart: {
    schema: z.enum(RESTART_POLICIES),
    must: 'ALWAYS, ON_FAILURE or NEVER',
    description: 'Whether to start the command again when it ends. By default ALWAYS.',
  },
  stopAt: deadline('When to stop the instance automatically. Its disk is kept. Its GPUs are billed until that second.'),
  destroyAt: deadline('When to destroy the instance, with its disk, automatically. It is billed until that second.'),
  spendLimit: limit(
    'Maximum total cost of the instance in USD: GPUs, disk, the minimum after preempting another instance, and an early exit. The instance stops at the second in which it reaches the limit. Its disk is kept and billed.',
  ),
  stopWhenIdle: wholeNumber(
    MIN_IDLE_MINUTES,
    MAX_IDLE_MINUTES,
    'Minutes of idleness after which the instance stops automatically: no GPU was more than 5% busy and no client was connected. Its disk is kept and billed. Requires a machine whose host agent reports GPU load. This is a convenience that trusts the agent; use a spend limit to cap costs.',
  ),
  monthlyLimit: limit(
    'Maximum spend in a UTC calendar month, in USD. Running instances under the limit stop when it is reached.',
  ),
  onExit: {
    schema: z.enum(EXIT_ACTIONS),
    must: 'KEEP, STOP or DESTROY',
    description: "Action when the command has ended and isn't restarted. By default KEEP.",
  },
  secretName: { schema: secretName, must: SECRET_NAME_MUST, description: 'Name of the secret, unique in the account.' },
  secretValue: {
    schema: z.string().refine((value) => isProcessText(value) && value !== '' && bytesOf([value]) <= MAX_SECRET_BYTES),
    must: `a string of 1 to ${MAX_SECRET_BYTES} bytes without NUL`,
    description: 'Value of the secret. It is stored encrypted and never shown again.',
  },
  registry: {
    schema: z.string().max(255).regex(REGISTRY_HOST),
    must: 'the host name of a registry, with its port if needed, such as ghcr.io',
    description: 'Host name of the registry that the login is for; docker.io for Docker Hub.',
  },
  registryUser: text(1, 255, 'User name at the registry.'),
  savedTemplateName: {
    schema: z.string().regex(LAUNCH_NAME),
    must: "a name of 1 to 63 lowercase letters, digits and hyphens that doesn't start or end with a hyphen",
    description: 'Name of the saved template, unique in the account.',
  },
  savedTemplateDescription: text(0, 200, 'Purpose of the saved template.'),
  sshPublicKey: {
    schema: z.string().min(1).max(MAX_SSH_KEY_LENGTH),
    must: `one line of a .pub file, of at most ${MAX_SSH_KEY_LENGTH} characters`,
    description:
      'A public key as in a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -384 or -521, or ssh-rsa with at least 3,072 bits.',
  },
  topUpAsset: text(
    1,
    20,
    'Currency to pay with: BTC, LTC, XMR, ETH, SOL, TRX, or USDT with its network: USDT-TRX, USDT-ETH, USDT-SOL.',
  ),
  topUpId: { schema: z.string(), must: 'a string', description: 'Top-up id. Any other string is an unknown top-up.' },
  topUps: wholeNumber(1, 100, 'Maximum number of top-ups returned.'),
  port: wholeNumber(1, 65_535, 'Port that a program in the container listens on.'),
  webPath: {
    schema: z.string().max(2_000).refine(isWebPath),
    must: 'a path of 1 to 2000 visible ASCII characters that starts with a single slash',
    description: 'Path, with its query, that the link opens.',
    default: '/',
  },
  logTail: { ...wholeNumber(0, 1_000, 'Number of last lines.'), default: 100 },
  page: wholeNumber(1, 100, 'Entries per page.'),
  name: text(1, 200, 'Display name.'),
  keyName: text(1, 60, 'Your name for the key.'),
  volumeName: text(1, MAX_VOLUME_NAME, "Your name for the volume; doesn't have to be unique."),
  volumeGb: wholeNumber(1, MAX_VOLUME_GB, 'Size of the volume in GB. A volume can grow but not shrink.'),
  volumeId: {
    schema: z.string(),
    must: 'a string',
    description: 'Volume id: `v-` and 8 hex characters. Any other string is an unknown volume.',
  },
  snapshotId: {
    schema: z.string().regex(/^[0-9a-f]{64}$/),
    must: '64 hexadecimal digits',
    description: "restic's id of a snapshot: 64 hex characters.",
  },
  keyScopes: {
    schema: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
    must: `a list of at least one of ${SCOPES.join(', ')}`,
    description: 'Permissions of the key. By default, those of the key that creates it.',
  },
  keyExpiresAt: deadline('When the key expires: it is refused from that second. By default never.'),
  keyNetworks: {
    schema: z
      .array(z.string().refine((each) => each.length <= 50 && parseNetwork(each) !== null, NETWORK))
      .min(1)
      .max(MAX_NETWORKS),
    must: `a list of 1 to ${MAX_NETWORKS} networks or addresses such as 203.0.113.0/24 or 2001:db8::/32`,
    description: 'Networks from which the key is accepted. By default all.',
  },
  webhookUrl: {
    schema: z.string().max(2_000).refine(isWebhookUrl),
    must: 'an http or https URL of at most 2000 characters, without user and fragment',
    description: 'URL to which events are sent. Use https: the body is signed, not encrypted.',
  },
  mailAddress: {
    schema: z.string().max(254).refine(isMailAddress),
    must: 'one email address such as you@example.com, in ASCII',
    description: 'Address to which email is sent, in ASCII. Write an internationalized domain in its xn-- form.',
  },
  webhookEvents: {
    schema: z
      .array(z.enum(Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]))
      .min(1)
      .max(MAX_LIST),
    must: 'a list of at least one event type',
    description: 'Event types to send. By default all.',
  },
  balanceBelow: {
    schema: z.bigint().min(0n).max(1_000_000_000_000n),
    must: 'an amount from 0 to 1000000 USD',
    description:
      'Low-balance threshold in USD: the account is notified when the balance falls to it. Null disables the notice.',
  },
  note: text(1, 1_000, 'Reason for the movement.'),
  reference: text(1, 200, "Identifies a payment. Repeating a reference doesn't move money again."),
} satisfies Record<string, Field<unknown>>;

/**
 * Returns the value if it is within the field's bounds. Otherwise throws an error that states the field and its bounds.
 */
export function check<T>(name: string, field: Field<T>, value: unknown): T {
  const parsed = field.schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const message = inputFault(name, field.must, parsed.error.issues);
  throw new DomainError(field.refusal ?? 'invalid_request', message, { field: name });
}

/** Like `check`, but returns the default if the caller omitted the value or sent null. */
export function checkOptional<T>(name: string, field: Field<T>, value: unknown): T | undefined {
  return value === null || value === undefined ? field.default : check(name, field, value);
}

export function priceLimit(priceMax: number | undefined): bigint | null {
  return priceMax === undefined ? null : microNotAbove(priceMax);
}

function deadline(description: string): Field<string> {
  return {
    schema: z.string().refine(isDeadlineText),
    must: `${DEADLINE_TEXT}, later than now and at most ${MAX_DAYS_AHEAD} days ahead`,
    description: `${description} Format: ${DEADLINE_TEXT}.`,
  };
}

/** Defines a field for a point in time in the past. */
function instant(description: string): Field<string> {
  return {
    schema: z.string().refine((text) => parseInstant(text) !== null),
    must: INSTANT_TEXT,
    description: `${description} Format: an instant such as 2026-11-23T18:00:00Z.`,
  };
}

function limit(description: string): Field<number> {
  return {
    schema: z
      .number()
      .min(0)
      .max(MAX_PRICE_USD)
      .refine((usd) => microOfUsd(usd) !== null),
    must: `a number from 0 to ${MAX_PRICE_USD} with at most 6 decimals`,
    description,
  };
}

/** Converts a validated limit in USD to micro-USD. Null means no limit. */
export function limitOf(usd: number | undefined): bigint | null {
  return usd === undefined ? null : microOfUsd(usd)!;
}

function wholeNumber(min: number, max: number, description: string): Field<number> {
  return { schema: z.int().min(min).max(max), must: `a whole number from ${min} to ${max}`, description };
}

function price(description: string): Field<number> {
  const schema = z.number().min(0).max(MAX_PRICE_USD);
  return { schema, must: `a number from 0 to ${MAX_PRICE_USD}`, description };
}

function list(entry: z.ZodType<string>, description: string): Field<string[]> {
  const must = `a list of at most ${MAX_LIST} strings of 1 to 64 characters`;
  return { schema: z.array(entry).max(MAX_LIST), must, description };
}

function argumentList(description: string): Field<string[]> {
  const schema = z
    .array(processText)
    .min(1)
    .max(MAX_ARGUMENTS)
    .refine((list) => bytesOf(list) <= MAX_LAUNCH_BYTES);
  return {
    schema,
    must: `a list of 1 to ${MAX_ARGUMENTS} strings without NUL, ${MAX_LAUNCH_BYTES} bytes in total`,
    description,
  };
}

/** Schema for a string in a list. Errors refer to the string by its index. */
function entryText(form: RegExp, must: string): z.ZodString {
  return z.string(`must be ${must}`).regex(form, `must be ${must}`);
}

/** Schema for an object in a list. Rejects unknown properties, because ignoring one could change the meaning. */
function entry<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return `must be an object with ${known.join(', ')}`;
      const [unknown = ''] = issue.keys;
      const near = nearestName(unknown, known);
      const hint = near === null ? `known: ${known.join(', ')}` : `did you mean ${near}?`;
      return `has an unknown member ${shortened(unknown)}; ${hint}`;
    },
  });
}

function volumePath(): z.ZodType<string> {
  const text = z.string('must be a path such as /data');
  return text.superRefine((path, context) => {
    const fault = volumePathFault(path);
    if (fault !== null) context.addIssue({ code: 'custom', message: `must ${fault}` });
  });
}

/** Rejects a list in which two entries have the same value of `member`. */
function once<Member extends string>(member: Member) {
  return (list: readonly Readonly<Record<Member, string>>[], context: z.RefinementCtx): void => {
    const first = new Map<string, number>();
    list.forEach((each, index) => {
      const before = first.get(each[member]);
      if (before === undefined) first.set(each[member], index);
      else
        context.addIssue({
          code: 'custom',
          path: [index, member],
          message: `must differ from the one in entry ${before}`,
        });
    });
  };
}

/** Whether the text can be a process variable or argument and can be stored as JSON in PostgreSQL. */
function isProcessText(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text);
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
}

function choices<const T extends string>(values: readonly T[], what: string, description: string): Field<T[]> {
  const schema = z.array(z.enum(values)).max(MAX_LIST);
  return { schema, must: `a list of at most ${MAX_LIST} ${what}`, description };
}

function text(min: number, max: number, description: string): Field<string> {
  const schema = z.string().min(min).max(max).regex(PRINTABLE);
  return { schema, must: `a string of ${min} to ${max} characters`, description };
}

import { z } from 'zod';
import { CONTAINER_USER_MUST, isContainerUser, MAX_CONTAINER_USER } from '../kernel/container-user.js';
import {
  bytesOf,
  choices,
  deadline,
  entry,
  entryText,
  type Field,
  isProcessText,
  limit,
  price,
  text,
  wholeNumber,
} from '../kernel/field.js';
import { MAX_IDLE_MINUTES, MIN_IDLE_MINUTES } from '../kernel/idle.js';
import { IMAGE_REFERENCE } from '../kernel/image-reference.js';
import { EXIT_ACTIONS, type LaunchPort, type LaunchSecret, RESTART_POLICIES } from '../kernel/launch.js';
import { INSTANCE_STATUSES, STOP_REASONS } from '../kernel/lifecycle.js';
import { SECRET_NAME_MUST, secretName } from '../secrets/fields.js';
import { volumeFields } from '../volumes/fields.js';
import { LABEL_KEY, LABEL_VALUE, MAX_LABEL_BYTES, MAX_LABELS, parseSelector } from './rules/labels.js';
import { MAX_TCP_PORTS } from './rules/tcp-ports.js';

/**
 * Maximum combined size of a launch's variables, in bytes. The arguments of its entrypoint and of its command have the
 * same limit.
 */
const MAX_LAUNCH_BYTES = 32_000;
const MAX_VARIABLES = 100;
const MAX_ARGUMENTS = 1_000;
export const MAX_LAUNCH_SECRETS = 50;
export const MAX_LAUNCH_PORTS = 20;
/** Matches variable names. Excludes `__proto__`, which can't be an ordinary property of a JavaScript object. */
const VARIABLE = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Matches instance names and names of saved templates. */
export const LAUNCH_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LABEL_KEY_MUST = 'must be a key of 1 to 63 letters, digits, dots, slashes, hyphens and underscores';
const LABEL_VALUE_MUST = 'must be text of at most 128 characters without commas';
const PROCESS_TEXT = 'must be text without NUL';
const processText = z.string(PROCESS_TEXT).refine(isProcessText, PROCESS_TEXT);
const VARIABLE_MUST = "a name of 1 to 128 letters, digits and underscores that doesn't start with a digit";
const variableName = entryText(VARIABLE, VARIABLE_MUST);
const PORT = 'must be a whole number from 1 to 65535';
const portNumber = z.int(PORT).min(1, PORT).max(65_535, PORT);

export const instanceFields = {
  statuses: choices(
    INSTANCE_STATUSES,
    'states',
    'Current states. An instance matches if it has any of them; an empty list matches all.',
  ),
  stopReasons: choices(
    STOP_REASONS,
    'stop reasons',
    'Stop reasons. An instance matches if it has any of them; an empty list matches all, including running instances.',
  ),
  modes: choices(
    ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'],
    'pricing modes',
    'Pricing modes. An instance matches if it has any of them; an empty list matches all.',
  ),
  labels: {
    schema: textsByKey(
      z.string().regex(LABEL_KEY, LABEL_KEY_MUST),
      LABEL_KEY_MUST,
      z.string(LABEL_VALUE_MUST).regex(LABEL_VALUE, LABEL_VALUE_MUST),
    )
      .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `must have at most ${MAX_LABELS} labels`)
      .refine(
        (labels) => bytesOf(Object.entries(labels).flat()) <= MAX_LABEL_BYTES,
        `must have at most ${MAX_LABEL_BYTES} bytes of keys and values`,
      ),
    must: `an object of at most ${MAX_LABELS} labels and ${MAX_LABEL_BYTES} bytes: keys of 1 to 63 letters, digits, dots, slashes, hyphens and underscores, and values of at most 128 characters without commas`,
    description:
      'Labels of the instance, by key, for finding it in lists. They have no effect on the container and can be changed later.',
  },
  labelKeys: {
    schema: z.array(z.string()).max(MAX_LABELS),
    must: `a list of at most ${MAX_LABELS} keys`,
    description: 'Keys of the labels to remove.',
  },
  labelSelector: {
    schema: z
      .string()
      .max(2_000)
      .refine((text) => parseSelector(text) !== null),
    must: `at most ${MAX_LABELS} requirements separated by commas, such as team=vision,experiment`,
    description:
      'Labels that instances must have, separated by commas: `key=value`, or `key` for any value. For example team=vision,experiment.',
  },
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
  launchName: {
    schema: z.string().regex(LAUNCH_NAME),
    must: "a name of 1 to 63 lowercase letters, digits and hyphens that doesn't start or end with a hyphen",
    description: "Your name for the instance; doesn't have to be unique. By default, the instance id.",
  },
  env: {
    schema: textsByKey(variableName, `must be ${VARIABLE_MUST}`, processText)
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
  onExit: {
    schema: z.enum(EXIT_ACTIONS),
    must: 'KEEP, STOP or DESTROY',
    description: "Action when the command has ended and isn't restarted. By default KEEP.",
  },
} satisfies Record<string, Field<unknown>>;

/** An optional term of a rental. Its kind determines its type in each surface, and `help` describes its option. */
interface RentalTerm {
  kind: 'when' | 'usd' | 'minutes' | 'labels' | 'volumes';
  field: Field<unknown>;
  help: string;
}

/** The optional terms of a rental. All surfaces derive their inputs from this list, in this order. */
export const RENTAL_TERMS = {
  stopAt: { kind: 'when', field: instanceFields.stopAt, help: 'Stop the instance automatically' },
  destroyAt: {
    kind: 'when',
    field: instanceFields.destroyAt,
    help: 'Destroy the instance and its disk automatically',
  },
  spendLimit: {
    kind: 'usd',
    field: instanceFields.spendLimit,
    help: 'Stop the instance once its total cost reaches this amount in USD',
  },
  stopWhenIdle: {
    kind: 'minutes',
    field: instanceFields.stopWhenIdle,
    help: 'Stop the instance after this much idle time, 5m to 24h',
  },
  labels: { kind: 'labels', field: instanceFields.labels, help: 'Label for finding the instance in lists' },
  volumes: { kind: 'volumes', field: volumeFields.volumes, help: 'Attach a volume' },
} as const satisfies Record<string, RentalTerm>;

/** Schema for texts by key. Refuses the key `__proto__`, which zod drops silently, and a key that isn't `keyMust`. */
function textsByKey(key: z.ZodString, keyMust: string, value: z.ZodType<string>) {
  const error: z.core.$ZodErrorMap = ({ code }) => (code === 'invalid_key' ? keyMust : undefined);
  return z.preprocess(
    (input, context) => {
      if (typeof input === 'object' && input !== null && Object.hasOwn(input, '__proto__')) {
        context.addIssue({ code: 'custom', path: ['__proto__'], message: 'must have a different name' });
      }
      return input;
    },
    z.record(key, value, { error }),
  );
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

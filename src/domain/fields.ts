import { z } from 'zod';
import { DomainError, type ErrorCode } from './rules/errors.js';
import { GPU_TIERS } from './rules/gpu-tier.js';
import { INSTANCE_STATUSES } from './rules/lifecycle.js';
import { microNotAbove } from './rules/money.js';
import { MAX_SSH_KEY_LENGTH } from './rules/ssh-key.js';
import { isWebPath } from './rules/web-site.js';

/**
 * The one definition of each input: validation, GraphQL inputs (description, default) and OpenAPI derive from it.
 */
export interface Field<T> {
  schema: z.ZodType<T>;
  /** Completes "NAME must be …": the bounds in words. */
  must: string;
  description: string;
  default?: T;
  /** The contract's own code for a missing value, and for one that is out of bounds; else invalid_request. */
  missing?: ErrorCode;
  refusal?: ErrorCode;
}

const MAX_PRICE_USD = 1_000_000;
/** The syntax of an OCI image reference: optional registry, path, tag and digest. A template's slug matches too. */
const IMAGE_REFERENCE =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** No control characters: PostgreSQL can't store a NUL byte. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const PRINTABLE = /^[^\u0000-\u001f\u007f]+$/;
const MAX_LIST = 100;
const slug = z.string().min(1).max(64).regex(PRINTABLE);

export const fields = {
  gpu: text(1, 64, 'Slug of a GPU model, as in the price sheet.'),
  region: text(1, 64, 'Region code.'),
  numMin: { ...wholeNumber(1, 8, 'Minimum number of GPUs in the machine.'), default: 1 },
  priceMax: price('Maximum on-demand price in USD per hour for the whole machine.'),
  limit: { ...wholeNumber(1, 100, 'Maximum number of offers returned.'), default: 25 },
  gpus: list(slug, 'Slugs of GPU models, any of which matches; empty for all.'),
  regions: list(slug, 'Region codes, any of which matches; empty for all.'),
  preferredGpus: list(
    slug,
    'Slugs of the only GPU models to take, in order of preference; empty for any, cheapest first.',
  ),
  preferredRegions: list(
    slug,
    'Codes of the only regions to take, in order of preference; empty for any, cheapest first.',
  ),
  tiers: choices(GPU_TIERS, 'GPU tiers', 'Classes of GPU models, any of which matches; empty for all.'),
  statuses: choices(INSTANCE_STATUSES, 'states', 'States that they are in now, any of which matches; empty for all.'),
  stopReasons: choices(
    ['USER', 'PREEMPTED', 'BALANCE_EXHAUSTED', 'ACCOUNT_SUSPENDED', 'OPERATOR', 'START_FAILED'],
    'stop reasons',
    'Why they stopped, any of which matches; empty for all, running ones too.',
  ),
  modes: choices(
    ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'],
    'pricing modes',
    'How they are priced, any of which matches; empty for all.',
  ),
  vramGbMin: wholeNumber(1, 10_000, 'Minimum video memory of one GPU in GB.'),
  numMax: wholeNumber(1, 8, 'Maximum number of GPUs in the machine.'),
  reliabilityMin: {
    schema: z.number().min(0).max(1),
    must: 'a number from 0 to 1',
    description: 'Minimum share of time the machine was up.',
  },
  vcpusMin: wholeNumber(1, 100_000, 'Minimum number of virtual CPUs.'),
  ramGbMin: wholeNumber(1, 1_000_000, 'Minimum memory in GB.'),
  diskGbMin: wholeNumber(1, 1_000_000, 'Minimum disk in GB that is free for a new instance.'),
  pricePerGpuMax: price('Maximum on-demand price in USD per GPU-hour, in every mode.'),
  maxPricePerHour: price('Maximum price in USD per hour for the whole machine in the chosen mode, without disk.'),
  machineId: { ...text(1, 64, 'The id of the machine to rent, from the offers.'), missing: 'missing_machine' },
  mode: {
    schema: z.enum(['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED']),
    must: 'a pricing mode',
    description: 'How the instance is priced.',
    default: 'ON_DEMAND' as const,
  },
  action: {
    schema: z.enum(['START', 'STOP', 'DESTROY']),
    must: 'an action',
    description: 'What to do to the instance.',
    missing: 'bad_action',
    refusal: 'bad_action',
  },
  instanceId: {
    schema: z.string(),
    must: 'a text',
    description: 'Instance id: `i-` and 8 hex characters. Any other text is an unknown instance.',
  },
  template: {
    schema: z.string().min(1).max(255).regex(IMAGE_REFERENCE),
    must: 'a text of 1 to 255 characters, the slug of a template or an OCI image reference',
    description:
      "A template slug or an OCI image reference. The machine's host agent pulls the image and runs a container of it; a machine without an agent records it only.",
    default: 'pytorch',
  },
  diskGb: {
    ...wholeNumber(1, 1_000_000, "Disk size in GB, from 1 to the machine's free disk (the offer's disk)."),
    default: 50,
  },
  idempotencyKey: {
    schema: z.string().min(1).max(255).regex(VISIBLE_ASCII),
    must: 'a text of 1 to 255 visible ASCII characters',
    description:
      'A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice.',
  },
  sshPublicKey: {
    schema: z.string().min(1).max(MAX_SSH_KEY_LENGTH),
    must: `one line of a .pub file, of at most ${MAX_SSH_KEY_LENGTH} characters`,
    description:
      'A public key as in a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -384 or -521, or ssh-rsa of 3,072 bits or more.',
  },
  topUpAsset: text(
    1,
    20,
    'What to pay with: BTC, LTC, XMR, ETH, SOL, TRX, or USDT with its network: USDT-TRX, USDT-ETH, USDT-SOL.',
  ),
  topUpId: { schema: z.string(), must: 'a text', description: 'Top-up id. Any other text is an unknown top-up.' },
  topUps: wholeNumber(1, 100, 'Maximum number of top-ups returned.'),
  port: wholeNumber(1, 65_535, 'Port that a program in the container listens on.'),
  webPath: {
    schema: z.string().max(2_000).refine(isWebPath),
    must: 'a path of 1 to 2000 visible ASCII characters that begins with one slash',
    description: 'Where the link leads, with its query.',
    default: '/',
  },
  logTail: { ...wholeNumber(0, 1_000, 'How many of the last lines.'), default: 100 },
  page: wholeNumber(1, 100, 'Entries on a page.'),
  name: text(1, 200, 'A name for people.'),
  keyName: text(1, 60, 'What you call the key.'),
  note: text(1, 1_000, 'The reason for the movement.'),
  reference: text(1, 200, 'Identifies a payment: the same reference twice moves money once.'),
} satisfies Record<string, Field<unknown>>;

/** The value, if it is within the field's bounds; else a refusal that names the field and its bounds. */
export function check<T>(name: string, field: Field<T>, value: unknown): T {
  const parsed = field.schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new DomainError(field.refusal ?? 'invalid_request', `${name} must be ${field.must}`, { field: name });
}

/** As `check`, but null and undefined stand for a value that the caller left out. */
export function checkOptional<T>(name: string, field: Field<T>, value: unknown): T | undefined {
  return value === null || value === undefined ? field.default : check(name, field, value);
}

export function priceLimit(priceMax: number | undefined): bigint | null {
  return priceMax === undefined ? null : microNotAbove(priceMax);
}

function wholeNumber(min: number, max: number, description: string): Field<number> {
  return { schema: z.int().min(min).max(max), must: `a whole number from ${min} to ${max}`, description };
}

function price(description: string): Field<number> {
  const schema = z.number().min(0).max(MAX_PRICE_USD);
  return { schema, must: `a number from 0 to ${MAX_PRICE_USD}`, description };
}

function list(entry: z.ZodType<string>, description: string): Field<string[]> {
  const must = `a list of at most ${MAX_LIST} texts of 1 to 64 characters`;
  return { schema: z.array(entry).max(MAX_LIST), must, description };
}

function choices<const T extends string>(values: readonly T[], what: string, description: string): Field<T[]> {
  const schema = z.array(z.enum(values)).max(MAX_LIST);
  return { schema, must: `a list of at most ${MAX_LIST} ${what}`, description };
}

function text(min: number, max: number, description: string): Field<string> {
  const schema = z.string().min(min).max(max).regex(PRINTABLE);
  return { schema, must: `a text of ${min} to ${max} characters`, description };
}

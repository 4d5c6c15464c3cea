import { bytesOfBase64 } from './crypto.js';
import { isArray, type Json, shortened } from './json.js';

/** Reports what is wrong with a value. */
export type Complain = (where: string, what: string) => void;

/** Checks the type of a value, and reports what is wrong with it and its members. */
export interface Shape<T> {
  check(value: Json, where: string, complain: Complain): void;
  /** Never set; carries the type of checked values. */
  readonly type?: T;
}

/** The type of values of a shape. */
export type Of<S> = S extends Shape<infer T> ? T : never;

const DAY_MS = 86_400_000;
/** Maximum number of digits of an amount. All money in the world has 25. */
const MAX_DIGITS = 30;
/** Maximum length of the quoted name of an unknown member. */
const MAX_NAME = 40;

const COUNT: Shape<number> = check((value) => typeof value === 'number' && value >= 0, 'an integer of at least 0');
const POSITIVE: Shape<number> = check((value) => typeof value === 'number' && value >= 1, 'an integer of at least 1');
const TEXT: Shape<string> = check((value) => typeof value === 'string', 'a text');
const NON_EMPTY: Shape<string> = check((value) => typeof value === 'string' && value !== '', 'a text');
const HASH: Shape<string> = matching(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits');
const KEY_ID: Shape<string> = matching(/^[0-9a-f]{16}$/, '16 lower-case hexadecimal digits');
const AMOUNT: Shape<string> = matching(
  new RegExp(`^(?:0|-?[1-9][0-9]{0,${MAX_DIGITS - 1}})$`),
  `an amount in units, a decimal string of at most ${MAX_DIGITS} digits`,
);
const RATE: Shape<string> = matching(
  new RegExp(`^(?:0|[1-9][0-9]{0,${MAX_DIGITS - 1}})$`),
  `a rate, a decimal string of at most ${MAX_DIGITS} digits`,
);
const INSTANT: Shape<string> = check(
  (value) => typeof value === 'string' && isInstant(value),
  'an instant, such as 2026-11-01T00:00:00Z',
);
const PUBLIC_KEY: Shape<string> = base64(32);
const SIGNATURE: Shape<string> = base64(64);

const CHARGE = object({
  rate: RATE,
  seconds: nullable(COUNT),
  startedAt: nullable(INSTANT),
  endedAt: nullable(INSTANT),
  mode: nullable(TEXT),
  gpu: nullable(TEXT),
  numGpus: nullable(COUNT),
  sizeGb: nullable(COUNT),
});

const KINDS = [
  'CREDIT',
  'ADJUSTMENT',
  'SERVICE_CREDIT',
  'GPU_USAGE',
  'DISK_USAGE',
  'VOLUME_USAGE',
  'EARLY_EXIT',
  'PREEMPTION_MINIMUM',
] as const;
export type Kind = (typeof KINDS)[number];
const USAGE: readonly Kind[] = ['GPU_USAGE', 'DISK_USAGE', 'VOLUME_USAGE'];
const MOVEMENTS: readonly Kind[] = ['CREDIT', 'ADJUSTMENT', 'SERVICE_CREDIT'];
const KIND: Shape<Kind> = check((value) => KINDS.includes(value as Kind), `one of ${KINDS.join(', ')}`);

const RECORD = object({
  account: NON_EMPTY,
  id: NON_EMPTY,
  kind: KIND,
  at: nullable(INSTANT),
  units: nullable(AMOUNT),
  instance: nullable(TEXT),
  volume: nullable(TEXT),
  reference: nullable(TEXT),
  note: nullable(TEXT),
  charge: nullable(CHARGE),
});
type AnyRecord = Of<typeof RECORD>;
type Charge = Of<typeof CHARGE>;

/** A charge whose seconds are known. */
type EntryCharge = Charge & { readonly seconds: number };
/** The record of a ledger entry. */
export type Entry = AnyRecord & { readonly at: string; readonly units: string; readonly charge: EntryCharge | null };
/** The record of usage that has no entry yet. */
export type OpenUsage = AnyRecord & { readonly charge: Charge & { readonly startedAt: string } };

/** The members that are null in a record of open usage, and only there. */
const ENTRY_ONLY = ['at', 'units'] as const;

/** A record whose members also fit its kind. */
const ENTRY: Shape<Entry> = {
  check(value, where, complain) {
    if (!fits(RECORD, value, where, complain)) return;
    for (const name of ENTRY_ONLY) if (value[name] === null) complain(`${where}.${name}`, 'is null');
    const { charge, kind } = value;
    const needsCharge = !MOVEMENTS.includes(kind);
    if (needsCharge !== (charge !== null)) complain(`${where}.charge`, needsCharge ? 'is null' : 'must be null');
    if (charge === null) return;
    checkMembersOfKind(kind, charge, where, complain);
    if (charge.seconds === null) complain(`${where}.charge.seconds`, 'is null');
    for (const name of ['startedAt', 'endedAt'] as const) {
      if ((charge[name] !== null) === isUsage(kind)) continue;
      complain(`${where}.charge.${name}`, isUsage(kind) ? 'is null' : 'must be null');
    }
  },
};

const OPEN: Shape<OpenUsage> = {
  check(value, where, complain) {
    if (!fits(RECORD, value, where, complain)) return;
    const { charge, kind } = value;
    if (!isUsage(kind)) complain(`${where}.kind`, 'must be a kind of usage');
    for (const name of [...ENTRY_ONLY, 'reference', 'note'] as const) {
      if (value[name] !== null) complain(`${where}.${name}`, 'must be null while the usage is open');
    }
    if (charge === null) return void complain(`${where}.charge`, 'is null');
    checkMembersOfKind(kind, charge, where, complain);
    if (charge.startedAt === null) complain(`${where}.charge.startedAt`, 'is null');
    for (const name of ['endedAt', 'seconds'] as const) {
      if (charge[name] !== null) complain(`${where}.charge.${name}`, 'must be null while the usage is open');
    }
  },
};

/** Checks that the members of a charge that don't apply to its kind are null, and only those. */
function checkMembersOfKind(kind: Kind, charge: Charge, where: string, complain: Complain): void {
  const isOfVolume = kind === 'VOLUME_USAGE';
  const applies = {
    mode: !isOfVolume,
    gpu: !isOfVolume,
    numGpus: !isOfVolume,
    sizeGb: isOfVolume || kind === 'DISK_USAGE',
  };
  for (const name of ['mode', 'gpu', 'numGpus', 'sizeGb'] as const) {
    if ((charge[name] !== null) !== applies[name])
      complain(`${where}.charge.${name}`, applies[name] ? 'is null' : `must be null for ${kind}`);
  }
}

const LINE = object({
  id: NON_EMPTY,
  kind: KIND,
  instance: nullable(TEXT),
  volume: nullable(TEXT),
  number: nullable(POSITIVE),
  mode: nullable(TEXT),
  rate: nullable(RATE),
  seconds: nullable(COUNT),
  from: INSTANT,
  to: INSTANT,
  units: AMOUNT,
});
export type Line = Of<typeof LINE>;

const LINK = object({ number: POSITIVE, hash: HASH, record: ENTRY });
const END = object({ number: COUNT, hash: HASH });

const ROOT = object({
  type: only('gpu-rental/root/v1'),
  number: POSITIVE,
  at: INSTANT,
  size: COUNT,
  root: HASH,
  previous: nullable(HASH),
  key: KEY_ID,
  signature: SIGNATURE,
});
export type Root = Of<typeof ROOT>;

const INCLUSION = object({
  type: only('gpu-rental/inclusion/v1'),
  pseudonym: HASH,
  number: POSITIVE,
  head: HASH,
  index: COUNT,
  path: array(HASH),
  root: ROOT,
});
export type Inclusion = Of<typeof INCLUSION>;

const CONSISTENCY = object({
  type: only('gpu-rental/consistency/v1'),
  first: COUNT,
  second: COUNT,
  path: array(HASH),
});
export type Consistency = Of<typeof CONSISTENCY>;

const KEY = object({
  id: KEY_ID,
  algorithm: only('Ed25519'),
  publicKey: PUBLIC_KEY,
  from: INSTANT,
  until: nullable(INSTANT),
  previous: nullable(KEY_ID),
  endorsement: nullable(SIGNATURE),
});
export type Key = Of<typeof KEY>;

const KEYS = object({ type: only('gpu-rental/keys/v1'), keys: array(KEY) });
export type Keys = Of<typeof KEYS>;

const ROOTS = object({ type: only('gpu-rental/roots/v1'), roots: array(ROOT) });
export type Roots = Of<typeof ROOTS>;

const STATEMENT = object({
  type: only('gpu-rental/statement/v1'),
  service: nullable(TEXT),
  account: NON_EMPTY,
  pseudonym: HASH,
  period: object({ from: INSTANT, to: INSTANT }),
  issuedAt: INSTANT,
  opening: AMOUNT,
  closing: AMOUNT,
  chain: object({ from: END, to: END }),
  links: array(LINK),
  open: array(OPEN),
  lines: array(LINE),
  log: nullable(INCLUSION),
  key: KEY_ID,
  signature: SIGNATURE,
});
export type Statement = Of<typeof STATEMENT>;

/** The shape of each type of document. */
export const DOCUMENTS = {
  'gpu-rental/keys/v1': KEYS,
  'gpu-rental/statement/v1': STATEMENT,
  'gpu-rental/root/v1': ROOT,
  'gpu-rental/roots/v1': ROOTS,
  'gpu-rental/inclusion/v1': INCLUSION,
  'gpu-rental/consistency/v1': CONSISTENCY,
};
type DocumentType = keyof typeof DOCUMENTS;
/** A document of a known type. */
export type Document = Keys | Statement | Root | Roots | Inclusion | Consistency;

/** Returns the type that a document claims to have; null if there is no such type. */
export function documentType(value: Json): DocumentType | null {
  const type = value !== null && typeof value === 'object' && !isArray(value) ? value.type : null;
  return typeof type === 'string' && Object.hasOwn(DOCUMENTS, type) ? (type as DocumentType) : null;
}

/** Returns whether the value has the shape. If it doesn't, reports why. */
export function fits<T>(shape: Shape<T>, value: Json, where: string, complain: Complain): value is Json & T {
  let fitting = true;
  shape.check(value, where, (part, what) => {
    fitting = false;
    complain(part, what);
  });
  return fitting;
}

/** Whether the kind is one of the kinds of usage, which have an interval. */
export function isUsage(kind: Kind): boolean {
  return USAGE.includes(kind);
}

function check<T>(isValid: (value: Json) => boolean, expected: string): Shape<T> {
  return {
    check(value, where, complain) {
      if (!isValid(value)) complain(where, `must be ${expected}; got ${shown(value)}`);
    },
  };
}

function matching(pattern: RegExp, expected: string): Shape<string> {
  return check((value) => typeof value === 'string' && pattern.test(value), expected);
}

function only<T extends string>(text: T): Shape<T> {
  return check((value) => value === text, JSON.stringify(text));
}

function base64(length: number): Shape<string> {
  const digits = Math.ceil(length / 3) * 4;
  return check(
    (value) => typeof value === 'string' && value.length === digits && bytesOfBase64(value)?.length === length,
    `${length} bytes in base64`,
  );
}

function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return { check: (value, where, complain) => value !== null && shape.check(value, where, complain) };
}

function array<T>(shape: Shape<T>): Shape<readonly T[]> {
  return {
    check(value, where, complain) {
      if (value === null || !isArray(value)) return void complain(where, `must be an array; got ${shown(value)}`);
      value.forEach((item, index) => {
        shape.check(item, `${where}[${index}]`, complain);
      });
    },
  };
}

/** An object with exactly these members. */
function object<Members extends Record<string, Shape<unknown>>>(
  members: Members,
): Shape<{ readonly [Name in keyof Members]: Of<Members[Name]> }> {
  return {
    check(value, where, complain) {
      if (value === null || typeof value !== 'object' || isArray(value)) {
        return void complain(where, `must be an object; got ${shown(value)}`);
      }
      const prefix = where === '' ? '' : `${where}.`;
      for (const [name, shape] of Object.entries(members)) {
        if (name in value) shape.check(value[name] as Json, prefix + name, complain);
        else complain(prefix + name, 'is missing');
      }
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(members, name))
          complain(prefix + shortened(name, MAX_NAME), "isn't a member of this document");
      }
    },
  };
}

function shown(value: Json): string {
  if (value === null || typeof value !== 'object') return shortened(JSON.stringify(value));
  return isArray(value) ? 'an array' : 'an object';
}

/** Returns whether the text is an existing UTC second. */
function isInstant(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text)) return false;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && textOf(ms) === text;
}

/** Returns an instant's text. */
function textOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Returns an instant in seconds since 1970. */
export function secondsOf(instant: string): number {
  return Date.parse(instant) / 1_000;
}

/** Returns the start of the UTC month that contains the instant. */
export function monthStart(instant: string): string {
  return `${instant.slice(0, 7)}-01T00:00:00Z`;
}

/** Returns the end of the UTC month that contains the instant. */
export function monthEnd(instant: string): string {
  return monthStart(textOf(Date.parse(monthStart(instant)) + 31 * DAY_MS));
}

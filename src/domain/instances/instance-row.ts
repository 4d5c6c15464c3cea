import type { Instance as InstanceRow } from '../../database/generated/client/client.js';
import type { Instance, Labels } from '../kernel/lifecycle.js';
import { dateOf, type Instant, instantOf } from '../kernel/time.js';

export type { InstanceRow };

const date = (instant: Instant | null) => (instant === null ? null : dateOf(instant));
const instant = (value: Date | null) => (value === null ? null : instantOf(value));

/** Converts an instance from the form used by the rules to a Prisma row. */
export function toRow(instance: Instance): InstanceRow {
  return {
    ...instance,
    createdAt: dateOf(instance.createdAt),
    runningSince: date(instance.runningSince),
    stoppedAt: date(instance.stoppedAt),
    destroyedAt: date(instance.destroyedAt),
    stopAt: date(instance.stopAt),
    destroyAt: date(instance.destroyAt),
    limitReachedAt: date(instance.limitReachedAt),
    reservedUntil: date(instance.reservedUntil),
    minimumUntil: date(instance.minimumUntil),
  };
}

/** Converts a Prisma row to the form of an instance used by the rules. */
export function fromRow(row: InstanceRow): Instance {
  return {
    ...row,
    hostId: row.hostId ?? row.machineId,
    labels: row.labels as Labels | null,
    createdAt: instantOf(row.createdAt),
    runningSince: instant(row.runningSince),
    stoppedAt: instant(row.stoppedAt),
    destroyedAt: instant(row.destroyedAt),
    stopAt: instant(row.stopAt),
    destroyAt: instant(row.destroyAt),
    limitReachedAt: instant(row.limitReachedAt),
    reservedUntil: instant(row.reservedUntil),
    minimumUntil: instant(row.minimumUntil),
  };
}

const BIGINT_FIELDS: ReadonlySet<string> = new Set([
  'gpuRate',
  'diskRate',
  'onDemandRate',
  'createdAt',
  'runningSince',
  'stoppedAt',
  'destroyedAt',
  'stopAt',
  'destroyAt',
  'spendLimit',
  'limitReachedAt',
  'gpuSeconds',
  'reservedUntil',
  'earlyExitUnits',
  'minimumUntil',
  'minimumUnits',
] satisfies (keyof Instance)[]);

/** Converts an instance to JSON for storage. Bigints become strings. */
export function toJson(instance: Instance): Record<string, unknown> {
  const entries = Object.entries(instance);
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]));
}

export function fromJson(json: unknown): Instance {
  const { machineId } = json as { machineId: string };
  const entries = Object.entries({ ...NEW_FIELDS, hostId: machineId, ...(json as Record<string, unknown>) });
  return Object.fromEntries(
    entries.map(([name, value]) => [name, BIGINT_FIELDS.has(name) && value !== null ? BigInt(String(value)) : value]),
  ) as unknown as Instance;
}

/** Defaults for fields that are missing from responses stored by an earlier version. */
const NEW_FIELDS = {
  firstGpu: 0,
  minimumUntil: null,
  minimumUnits: '0',
  stopAt: null,
  destroyAt: null,
  spendLimit: null,
  limitReachedAt: null,
  stopWhenIdle: null,
  labels: null,
  volumeGb: 0,
  keyId: null,
  runKeyId: null,
} satisfies Partial<Record<keyof Instance, unknown>>;

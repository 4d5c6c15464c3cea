import { required } from '../../../std/required.js';
import { earliest, formatInstant, type Instant, latest, parseInstant } from '../../kernel/time.js';

/** The charge of a record (docs/proofs.md). `seconds` and `endedAt` are null while the usage is open. */
export interface RecordCharge {
  rate: string;
  seconds: number | null;
  startedAt: string | null;
  endedAt: string | null;
  mode: string | null;
  gpu: string | null;
  numGpus: number | null;
  sizeGb: number | null;
}

/** The content of a ledger entry, or of usage that has no entry yet. Then `at` and `units` are null. */
export interface LedgerRecord {
  account: string;
  id: string;
  kind: string;
  at: string | null;
  units: string | null;
  instance: string | null;
  volume: string | null;
  reference: string | null;
  note: string | null;
  charge: RecordCharge | null;
}

export interface SignedLine {
  id: string;
  kind: string;
  instance: string | null;
  volume: string | null;
  /** Null for open usage. */
  number: number | null;
  mode: string | null;
  rate: string | null;
  seconds: number | null;
  from: string;
  to: string;
  units: string;
}

/** A period that includes its first second and excludes its end. */
export interface Period {
  from: Instant;
  to: Instant;
}

/** Returns a record's line in a signed statement; null if the record isn't within the period. */
export function lineOf(record: LedgerRecord, number: number | null, period: Period): SignedLine | null {
  const { id, kind, instance, volume, charge } = record;
  const line = { id, kind, instance, volume, number, mode: charge?.mode ?? null, rate: charge?.rate ?? null };
  if (charge?.startedAt == null) {
    const at = required(record.at, 'time of an entry');
    if (secondOf(at) < period.from || secondOf(at) >= period.to) return null;
    return { ...line, seconds: charge?.seconds ?? null, from: at, to: at, units: required(record.units, 'units') };
  }
  const from = latest(secondOf(charge.startedAt), period.from);
  const to = charge.endedAt === null ? period.to : earliest(secondOf(charge.endedAt), period.to);
  if (from >= to) return null;
  const seconds = to - from;
  return {
    ...line,
    seconds: Number(seconds),
    from: formatInstant(from),
    to: formatInstant(to),
    units: (-BigInt(charge.rate) * seconds).toString(),
  };
}

function secondOf(text: string): Instant {
  return required(parseInstant(text), 'instant of a record');
}

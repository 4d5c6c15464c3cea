import { createHash } from 'node:crypto';

type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** A number, the id of its entry, and a hash in hexadecimal. */
type Link = [number: number, entryId: string, hash: string];

export interface Chain {
  length: number;
  head: string;
  isComplete: boolean;
  links: Link[];
  /** The links that follow from the entries, in the order of the chain. Entries without a link are last. */
  expected: Link[];
  expectedHead: string;
  /** The records of the entries by their ids. */
  records: ReadonlyMap<string, LedgerRecord>;
}

interface LedgerRecord {
  kind: string;
  charge: object | null;
  [member: string]: unknown;
}

/** All columns are texts or 32-bit integers, so that the result doesn't depend on the connection's parsers. */
const ENTRIES = `
  select entry.id, entry.kind::text, entry.units::text, ${epoch('entry.at')} as at, entry.instance_id as instance,
    entry.reference, entry.note, mode::text, gpu, num_gpus, disk_gb, gpu_rate::text, (on_demand_rate - gpu_rate)::text as discount,
    coalesce(used.rate, size.rate)::text as rate, ${epoch('coalesce(used.started_at, size.started_at)')} as started_at,
    ${epoch('coalesce(used.ended_at, size.ended_at)')} as ended_at, size.volume_id as volume, size.size_gb
  from ledger_entry entry left join instance on instance.id = entry.instance_id
    left join usage_interval used on used.instance_id = entry.instance_id
      and used.instance_id || '/' || lower(used.resource::text) || '/' || used.ordinal = entry.id
    left join volume_interval size on size.volume_id || '/volume/' || size.ordinal = entry.id
    left join chain_link on entry_id = entry.id
  where entry.account_id = $1 order by chain_link.number, entry.id`;
const CHAIN = `select length::int, encode(head, 'hex') as head, encode(pseudonym, 'hex') as pseudonym, complete
  from account_chain where account_id = $1`;
const LINKS = `select number::int, entry_id, encode(hash, 'hex') as hash from chain_link where account_id = $1 order by number`;

interface EntryRow {
  id: string;
  kind: string;
  units: string;
  at: string;
  instance: string | null;
  reference: string | null;
  note: string | null;
  mode: string | null;
  gpu: string | null;
  num_gpus: number | null;
  disk_gb: number | null;
  gpu_rate: string | null;
  discount: string | null;
  rate: string | null;
  started_at: string | null;
  ended_at: string | null;
  volume: string | null;
  size_gb: number | null;
}

/**
 * Reads an account's chain, and computes it again from its entries as docs/proofs.md defines it, without the database's
 * functions.
 */
export async function chainOf(query: Query, account: string): Promise<Chain> {
  const [entries, [chain], links] = [
    (await query(ENTRIES, [account])) as unknown as EntryRow[],
    await query(CHAIN, [account]),
    await query(LINKS, [account]),
  ];
  const records = new Map(entries.map((entry) => [entry.id, recordOf(account, entry)]));
  const { length, head, pseudonym, complete } = chain as {
    length: number;
    head: string;
    pseudonym: string;
    complete: boolean;
  };
  let previous = tagged('gpu-rental/chain/v1', { account, pseudonym });
  const expected = entries.map(({ id }, index): Link => {
    const number = index + 1;
    previous = tagged('gpu-rental/link/v1', { number, previous, record: records.get(id) });
    return [number, id, previous];
  });
  return {
    ...{ length, head, isComplete: complete, expected, expectedHead: previous, records },
    links: links.map(({ number, entry_id, hash }) => [number, entry_id, hash] as Link),
  };
}

function recordOf(account: string, entry: EntryRow): LedgerRecord {
  const { id, kind, units, instance, volume, reference, note } = entry;
  return {
    account,
    id,
    kind,
    at: instant(entry.at),
    units,
    instance,
    volume,
    reference,
    note,
    charge: chargeOf(entry),
  };
}

function chargeOf(entry: EntryRow): object | null {
  const rented = { mode: entry.mode, gpu: entry.gpu, numGpus: entry.num_gpus };
  const whole = (rate: string) => ({
    ...{ rate, seconds: Number(-BigInt(entry.units) / BigInt(rate)), startedAt: null, endedAt: null, sizeGb: null },
    ...rented,
  });
  const interval = (sizeGb: number | null) => ({
    rate: entry.rate,
    seconds: Number(entry.ended_at) - Number(entry.started_at),
    startedAt: instant(entry.started_at!),
    endedAt: instant(entry.ended_at!),
    sizeGb,
    ...rented,
  });
  switch (entry.kind) {
    case 'GPU_USAGE':
      return interval(null);
    case 'DISK_USAGE':
      return interval(entry.disk_gb);
    case 'VOLUME_USAGE':
      return interval(entry.size_gb);
    case 'EARLY_EXIT':
      return whole(entry.discount!);
    case 'PREEMPTION_MINIMUM':
      return whole(entry.gpu_rate!);
    default:
      return null;
  }
}

function epoch(column: string): string {
  return `extract(epoch from ${column})::bigint::text`;
}

function instant(seconds: string): string {
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, 19)}Z`;
}

function tagged(tag: string, value: unknown): string {
  return createHash('sha256')
    .update(`${tag}\n${canonical(value)}`)
    .digest('hex');
}

/** Returns the canonical form by RFC 8785 of a value whose names are ASCII and whose numbers are integers. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)}}`;
}

import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import type { Write } from '../billing/ledger.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { Launch } from '../kernel/launch.js';
import type { Instance } from '../kernel/lifecycle.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { MAX_TCP_PORTS_OF_ACCOUNT, QUARANTINE_SECONDS } from './rules/tcp-ports.js';

/** Key of the advisory lock that allows only one deploy at a time to assign ports. */
const LOCK = 7_302_411;

/** A port on the gateways, and the container port that it forwards to. */
export interface TcpPort {
  /** The container port. */
  port: number;
  host: string;
  publicPort: number;
}

/** Where connections to a gateway port are forwarded. */
export interface TcpTarget {
  accountId: string;
  instanceId: string;
  port: number;
}

type Place = Pick<KernelDeps, 'settings'> & { accountId: string; at: Instant };

/** Throws deploy_failed if not all of a launch's ports can be assigned. Called before anything is rented. */
export async function checkTcpPorts(
  reader: Pick<Transaction, 'query'>,
  { settings, accountId, at }: Place,
  { tcpPorts = [] }: Launch,
): Promise<void> {
  if (tcpPorts.length > 0) await freePorts(reader, { settings, accountId, at }, tcpPorts.length);
}

/**
 * Reserves a gateway port for each of a launch's ports, in the same order. The reserved ports can't be assigned to
 * another instance until the transaction ends.
 */
export async function reserveTcpPorts(
  { transaction, at }: Write,
  { settings }: Pick<KernelDeps, 'settings'>,
  accountId: string,
  { tcpPorts = [] }: Launch,
): Promise<number[]> {
  if (tcpPorts.length === 0) return [];
  if (settings.tcpPorts !== null) await transaction.query('select pg_advisory_xact_lock($1)', [LOCK]);
  return freePorts(transaction, { settings, accountId, at }, tcpPorts.length);
}

/** Stores the ports after their instance, to which they refer. */
export function storeTcpPorts(
  { transaction }: Write,
  { id }: Instance,
  launch: Launch,
  taken: readonly number[],
): void {
  if (taken.length === 0) return;
  const values = [id, taken.map(String), (launch.tcpPorts ?? []).map(String)];
  transaction.later({ name: 'note-tcp-ports', text: INSERT_PORTS, values });
}

/** Returns the ports of a live instance, ordered by container port. Returns none if the instance is destroyed. */
export function tcpPortsOf(
  { serviceDomain }: KernelDeps['settings'],
  { status, tcpPorts }: { status: string; tcpPorts: readonly { port: number; publicPort: number }[] },
): TcpPort[] {
  if (status === 'DESTROYED') return [];
  return tcpPorts.map(({ port, publicPort }) => ({ port, publicPort, host: serviceDomain }));
}

/** Returns the targets of all assigned gateway ports, by gateway port. */
export async function readTcpPorts({ db }: Pick<KernelDeps, 'db'>): Promise<Map<number, TcpTarget>> {
  const { rows } = await db.pool.query<TcpTarget & { publicPort: number }>({ name: 'tcp-ports', text: READ_PORTS });
  return new Map(rows.map(({ publicPort, ...target }) => [publicPort, target]));
}

async function freePorts(
  reader: Pick<Transaction, 'query'>,
  { settings, accountId, at }: Place,
  count: number,
): Promise<number[]> {
  if (settings.tcpPorts === null) throw refusal('this service has no TCP ports');
  const { from, to } = settings.tcpPorts;
  const { rows } = await reader.query<{ free: number[]; held: number }>({
    name: 'free-tcp-ports',
    text: FREE_PORTS,
    values: [from, to, formatInstant(at - QUARANTINE_SECONDS), accountId, count],
  });
  const { free, held } = only(rows);
  if (held + count > MAX_TCP_PORTS_OF_ACCOUNT)
    throw refusal(
      `the account can have at most ${MAX_TCP_PORTS_OF_ACCOUNT} TCP ports; a released one counts for another hour`,
    );
  if (free.length < count)
    throw refusal('all TCP ports of this service are in use; try again later, or deploy without them');
  return free;
}

function refusal(message: string): DomainError {
  return new DomainError('deploy_failed', message, { reason: 'tcp_ports' });
}

/** Prefers ports that have never been used, followed by those that have been free the longest. */
const FREE_PORTS = `
  with taken as (
    select public_port, account_id, destroyed_at,
      status <> 'DESTROYED' or destroyed_at > $3::timestamptz as is_held
    from tcp_port join instance on instance.id = instance_id
  )
  select (select count(*)::int from taken where is_held and account_id = $4) as held,
    array(
      select number from generate_series($1::int, $2::int) as number left join taken on public_port = number
      where is_held is not true order by destroyed_at nulls first, random() limit $5::int
    ) as free`;
const INSERT_PORTS = `
  insert into tcp_port (public_port, instance_id, port)
  select taken::int, $1, port::int from unnest($2::text[], $3::text[]) as reserved (taken, port)
  on conflict (public_port) do update set instance_id = excluded.instance_id, port = excluded.port`;
const READ_PORTS = `
  select public_port as "publicPort", instance_id as "instanceId", account_id as "accountId", port
  from tcp_port join instance on instance.id = instance_id where status <> 'DESTROYED'`;

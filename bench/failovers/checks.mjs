// Compares the acknowledged writes with the database.
import { rowsOf } from '../support/database.mjs';
import { accountId } from '../support/fill.mjs';
import { runAdmin } from '../support/programs.mjs';

const LOST_DEPLOYS = `select count(*) from unnest($1::text[]) as acknowledged (id)
  where not exists (select from instance where instance.id = acknowledged.id)`;
const LOST_DESTROYS = `select count(*) from unnest($1::text[]) as acknowledged (id)
  where not exists (select from instance where instance.id = acknowledged.id and status = 'DESTROYED')`;
const WRONG_CREDITS = `select count(*) from unnest($1::text[]) as acknowledged (reference)
  where (select count(*) from ledger_entry where ledger_entry.reference = acknowledged.reference) <> 1`;
const REPEATED_PAYMENTS = `select count(*) from (select from ledger_entry where reference like 'top-up %'
  group by reference having count(*) > 1) as repeated`;
const RENTED_TWICE = `select count(*) from usage_interval one join instance a on a.id = one.instance_id
  join usage_interval other on other.resource = 'GPU' and other.instance_id <> one.instance_id
    and tstzrange(one.started_at, one.ended_at) && tstzrange(other.started_at, other.ended_at)
  join instance b on b.id = other.instance_id and b.machine_id = a.machine_id
  where one.resource = 'GPU' and a.id < b.id`;
const UNKNOWN_RENTALS = `select count(*) from instance
  where account_id = any ($1) and not (id = any ($2)) and status <> 'DESTROYED'`;
/** Contents of the tables that every write changes. They are the same on all nodes. */
const CONTENTS = `select md5(string_agg(id || status, ' ' order by id)) as instances,
  (select md5(string_agg(id || units, ' ' order by id)) from ledger_entry) as ledger,
  (select pg_is_in_recovery()) as standby from instance`;

async function count(url, text, ...values) {
  return Number((await rowsOf(url, text, values))[0].count);
}

/**
 * Counts the acknowledged deploys and destroys that the database lacks, and the pairs of overlapping rentals of a
 * machine.
 */
export async function checkRentals(url, { deployed, destroyed }) {
  return {
    lostDeploys: await count(url, LOST_DEPLOYS, [...deployed.keys()]),
    lostDestroys: await count(url, LOST_DESTROYS, [...destroyed]),
    rentedTwice: await count(url, RENTED_TWICE),
  };
}

/** Returns the number of faults of each kind on the current primary. */
export async function checkWrites({ cluster, record }) {
  const acknowledged = {
    credits: [...record.credits],
    payments: Array.from(record.paid, ([id, transaction]) => `top-up ${id}/LTC/${transaction}`),
  };
  const audit = await runAdmin(['audit'], { DATABASE_URL: cluster.url });
  return {
    ...(await checkRentals(cluster.url, record)),
    wrongCredits: await count(cluster.url, WRONG_CREDITS, acknowledged.credits),
    lostPayments: await count(cluster.url, WRONG_CREDITS, acknowledged.payments),
    repeatedPayments: await count(cluster.url, REPEATED_PAYMENTS),
    audit: audit.code,
    ...(audit.code !== 0 && { said: audit.said }),
  };
}

/** Returns the number of running instances that no client knows of. */
export function unknownRentals({ cluster, record }, accounts) {
  const owners = Array.from({ length: accounts }, (_, index) => accountId(index + 1));
  return count(cluster.url, UNKNOWN_RENTALS, owners, [...record.deployed.keys()]);
}

/** Returns how many of these writes exist on a node. */
export function foundOn(url, { sql, gateway }) {
  const text = `select (select count(*) from bench.trapped_write where id = any ($1))
    + (select count(*) from instance where id = any ($2)) as count`;
  return count(url, text, sql, gateway);
}

/** Whether all nodes have the same instances and the same ledger. Nothing may be written in the meantime. */
export async function nodesAgree({ cluster }) {
  const contents = await Promise.all(
    cluster.nodes.map(async (node) => (await rowsOf(cluster.urlOf(node), CONTENTS))[0]),
  );
  const texts = contents.map(({ instances, ledger }) => `${instances} ${ledger}`);
  return new Set(texts).size === 1 && contents.filter(({ standby }) => standby).length === contents.length - 1;
}

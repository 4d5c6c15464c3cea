import { isDeepStrictEqual } from 'node:util';
import { withClient } from '../support/database.mjs';
import { rentalsOf, renters } from '../support/default-data.mjs';
import { accountId } from '../support/fill.mjs';
import { runLoad } from '../support/load.mjs';
import { runAdmin, startGateway, startPeer } from '../support/programs.mjs';
import { pairClient } from '../support/rental-client.mjs';

export const rentalsCases = [
  {
    name: 'deploy-destroy',
    title: 'deploy then destroy, 16 clients',
    work: 'both commit the same rental rows; only the gateway serves HTTP, checks keys and balances, and records activity',
    against: 'node-postgres, same writes',
    atLeast: 0.5,
    unit: 'pairs/s',
    open: async ({ gateway, databaseUrl, bareUrl }) => {
      const rentals = await rentalsOf(databaseUrl);
      await withClient(bareUrl, dropNotices);
      const config = {
        databaseUrl: bareUrl,
        rentals: rentals.map(({ account, machineId }) => ({ accountId: accountId(account), machineId })),
      };
      const peer = await startPeer('bare-writes', config);
      const run = (seconds) => rentByGateway(gateway.port, rentals, seconds);
      const runPeer = (seconds) => peer.ask({ seconds });
      await run(0.01);
      await runPeer(0.01);
      return {
        difference: await differenceOfRows(databaseUrl, bareUrl),
        note: "the peer's tables have no triggers that notify of changes",
        subject: { pid: gateway.pid, run },
        peer: { pid: peer.pid, run: runPeer },
        /** Checks that neither side has partial or inconsistent rentals. */
        verify: async () => (await faultOf('gateway', databaseUrl)) ?? (await faultOf('peer', bareUrl)),
        close: () => peer.end(),
      };
    },
  },
  {
    name: 'deploy-launch',
    title: 'deploy with a launch of 2 kB then destroy',
    work: 'two gateways deploy and destroy over HTTP; only the measured one gets and stores a launch per deploy',
    against: 'the gateway, no launch',
    atLeast: 0.95,
    unit: 'pairs/s',
    open: async ({ gateway, databaseUrl }) => {
      const rentals = await rentalsOf(databaseUrl);
      // Runs in a separate process on the same database, so that CPU time is measured for each side.
      const plain = await startGateway(databaseUrl);
      const run = (seconds) => rentByGateway(gateway.port, rentals, seconds, LAUNCH);
      const runPeer = (seconds) => rentByGateway(plain.port, rentals, seconds);
      await run(0.01);
      await runPeer(0.01);
      return {
        difference: await faultOfLaunch(databaseUrl),
        subject: { pid: gateway.pid, run },
        peer: { pid: plain.pid, run: runPeer },
        verify: () => faultOf('gateway', databaseUrl),
        close: () => plain.end(),
      };
    },
  },
];

const LAUNCH_BYTES = 2_000;
const LAUNCH = {
  name: 'bench',
  env: { MODEL: 'x'.repeat(LAUNCH_BYTES - 150), MODE: 'fast' },
  command: ['--model', 'facebook/opt-125m', '--port', '8000'],
  ports: [{ port: 8_000, name: 'API' }],
  restart: 'never',
};

/** Checks that the launch was stored completely, because otherwise the case would have measured nothing. */
function faultOfLaunch(databaseUrl) {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query(
      'select count(*)::int as launches, min(octet_length(launch::text)) as bytes from instance_launch',
    );
    const [{ launches, bytes }] = rows;
    return launches > 0 && bytes >= LAUNCH_BYTES * 0.95 ? null : `${launches} launches of ${bytes} bytes are stored`;
  });
}

/** Each connection repeatedly deploys on its own machine and destroys the instance. */
async function rentByGateway(port, rentals, seconds, launch) {
  const clientOf = (connection) => pairClient(rentals[connection], launch);
  const load = await runLoad({ port, connections: rentals.length, seconds, clientOf, status: [200, 201] });
  return { ...load, perSecond: load.perSecond / 2 };
}

/**
 * Drops the triggers that send notices. They keep other gateways' caches current, which a bare program doesn't need.
 */
async function dropNotices(client) {
  const { rows } = await client.query(`
    select tgname, tgrelid::regclass::text as relation from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where proname like 'tell\\_%'`);
  for (const { tgname, relation } of rows) await client.query(`drop trigger ${tgname} on ${relation}`);
}

/**
 * Compares the rows of the first deploy-and-destroy pair of each account. They must be equal except for ids and times.
 */
async function differenceOfRows(...urls) {
  const [ours, theirs] = await Promise.all(urls.map(kindsOfRows));
  return isDeepStrictEqual(ours, theirs) ? null : `${JSON.stringify(ours)} and ${JSON.stringify(theirs)}`;
}

function kindsOfRows(url) {
  return withClient(url, async (client) => {
    const ids = [accountId(renters[0]), accountId(renters.at(-1))];
    return (await client.query({ text: FIRST_RENTALS, values: ids, rowMode: 'array' })).rows;
  });
}

async function faultOf(side, url) {
  const { code, said } = await runAdmin(['audit'], { DATABASE_URL: url });
  return code === 0 ? null : `admin audit of the ${side}'s database: ${said.trim()}`;
}

const FIRST_RENTALS = `
  with first as (select * from instance where account_id between $1 and $2 and sequence = 1)
  select account_id, 'instance', to_jsonb(first) - '{id,created_at,stopped_at,destroyed_at,gpu_seconds}'::text[] from first
  union all select account_id, 'interval', to_jsonb(usage) - '{instance_id,started_at,ended_at}'::text[]
    from usage_interval usage join first on first.id = instance_id where ended_at is not null
  union all select entry.account_id, substr(entry.id, 12), to_jsonb(entry) - '{id,instance_id,units,at}'::text[]
    from ledger_entry entry join first on first.id = instance_id
  order by 1, 2, 3`;

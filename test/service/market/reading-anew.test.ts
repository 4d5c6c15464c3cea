import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { deploy } from '../../../src/domain/instances/instances.js';
import { type Service, startService } from '../../support/service.js';

const GPU = 'mi325x';
/** More machines than notices name, and more than one page of a full read. */
const MANY = 4_000;
const PATIENCE = { timeout: 20_000, interval: 10 };

let service: Service;
let releaseHeld = () => {};

beforeAll(async () => {
  service = await startService();
  await addMachines('m-many', MANY);
  await service.deps.inventory.readInFull();
});
afterAll(() => service?.close());
afterEach(async () => {
  releaseHeld();
  vi.restoreAllMocks();
  await service.deps.inventory.readInFull();
});

/** Adds machines with one statement, as an import does. */
async function addMachines(prefix: string, count: number): Promise<void> {
  const like = await service.machine({ gpu: GPU });
  await service.sql(
    `insert into machine select (jsonb_populate_record(machine, jsonb_build_object('host_id', '', 'id', $2::text || '-' || n))).*
     from machine, generate_series(1, $3::int) as n where id = $1`,
    [like, prefix, count],
  );
}

interface Rows {
  rows: { hostId: string }[];
}

/** Collects the names of inventory queries in order. `before` and `after` are awaited around each query. */
function watchReadings(
  before: (name: string) => Promise<void> = async () => {},
  after: (name: string, rows: Rows['rows']) => Promise<void> = async () => {},
): string[] {
  const names: string[] = [];
  const { pool } = service.deps.db;
  const real = pool.query.bind(pool) as (...args: unknown[]) => Promise<Rows>;
  vi.spyOn(pool, 'query').mockImplementation((async (...args: unknown[]) => {
    const { name = '' } = args[0] as { name?: string };
    if (!name.startsWith('offered-')) return real(...args);
    names.push(name);
    await before(name);
    const result = await real(...args);
    await after(name, result.rows);
    return result;
  }) as never);
  return names;
}

/** Holds back the first or second page of a full read until it is released. */
function holdPages(first = 2): { names: string[]; reached: Promise<void>; release: () => void } {
  const { free, release } = hold();
  let names: string[] = [];
  const reached = new Promise<void>((resolve) => {
    names = watchReadings(async (name) => {
      if (name !== 'offered-page' || names.filter((known) => known === name).length < first) return;
      resolve();
      await free;
    });
  });
  return { names, reached, release };
}

/** Holds back the database's response for the page that contains a machine. */
function holdResponse(machine: string): { reached: Promise<void>; release: () => void } {
  const { free, release } = hold();
  const reached = new Promise<void>((resolve) => {
    watchReadings(undefined, async (name, rows) => {
      if (name !== 'offered-page' || !rows.some(({ hostId }) => hostId === machine)) return;
      resolve();
      await free;
    });
  });
  return { reached, release };
}

function hold(): { free: Promise<void>; release: () => void } {
  let release = () => {};
  const free = new Promise<void>((resolve) => {
    release = resolve;
  });
  releaseHeld = release;
  return { free, release };
}

async function offers(query = `gpu=${GPU}&limit=100`): Promise<{ machine_id: string; [field: string]: unknown }[]> {
  const { status, body } = await service.anyone.rest('GET', `/offers?${query}`);
  expect(status).toBe(200);
  return body.data;
}

const isOffered = async (id: string) => (await offers()).some(({ machine_id }) => machine_id === id);
const available = async () => {
  const { body } = await service.anyone.graphql('{ pricing { data { slug availableGpus } } }');
  return body.data.pricing.data.find(({ slug }: { slug: string }) => slug === GPU).availableGpus as number;
};

it('the next response uses a new price sheet without reading machines', async () => {
  const names = watchReadings();
  await service.publish('2027-03-01', { [GPU]: 0.01 });
  const [cheapest] = await offers('limit=1');
  expect(cheapest).toMatchObject({ gpu: GPU, price_per_hour: { on_demand: 0.01 } });
  expect(names.filter((name) => name !== 'offered-some')).toEqual([]);
});

it('the next response reads only the machines added by a statement', async () => {
  const before = await available();
  const names = watchReadings();
  await addMachines('m-some', 400);
  // The machine that they were copied from is also counted.
  expect(await available()).toBe(before + 401);
  expect(names).not.toContain('offered-page');
});

describe('an inventory that is rereading all machines', () => {
  it('provides the previous data until the current data is complete', async () => {
    const id = await service.machine({ gpu: GPU, reliability: 1 });
    expect(await isOffered(id)).toBe(true);
    const { names, reached, release } = holdPages();
    await service.sql(`update machine set reliability = 0.5, state = 'DRAINED' where gpu = $1`, [GPU]);
    await reached;
    for (let time = 0; time < 3; time += 1) await offers();
    expect((await offers()).length).toBe(100);
    release();
    await service.deps.inventory.readInFull();
    expect(await offers()).toEqual([]);
    expect(names.filter((name) => name === 'offered-page').length).toBeGreaterThan(3);
    await service.sql(`update machine set reliability = 0.9, state = 'LISTED' where gpu = $1`, [GPU]);
    await service.deps.inventory.readInFull();
    expect(await isOffered(id)).toBe(true);
  });

  it('removes a rented machine from the offers immediately and returns it when freed', async () => {
    const id = await service.machine({ gpu: GPU, reliability: 1 });
    const renter = await service.renter('1000');
    const { reached, release } = holdPages();
    await service.sql('update machine set reliability = 0.95 where gpu = $1 and id <> $2', [GPU, id]);
    await reached;
    const { body } = await renter.rest('POST', '/instances', { machine_id: id });
    expect(await isOffered(id)).toBe(false);
    release();
    await service.deps.inventory.readInFull();
    expect(await isOffered(id)).toBe(false);
    await renter.rest('DELETE', `/instances/${body.id}`);
    expect(await isOffered(id)).toBe(true);
  });

  it('excludes a machine that is removed after its page is read but not yet processed', async () => {
    const id = await service.machine({ gpu: GPU, reliability: 1 });
    const { reached, release } = holdResponse(id);
    await service.sql('update machine set reliability = 0.93 where gpu = $1 and id <> $2', [GPU, id]);
    await reached;
    await service.sql(`update machine set state = 'OFFLINE' where id = $1`, [id]);
    expect(await isOffered(id)).toBe(false);
    release();
    await service.deps.inventory.readInFull();
    expect(await isOffered(id)).toBe(false);
  });

  it('ends with the current state of deleted and added machines', async () => {
    const removed = await service.machine({ id: 'z-last', gpu: GPU, reliability: 1 });
    const { reached, release } = holdPages();
    await service.sql('update machine set reliability = 0.94 where gpu = $1 and id <> $2', [GPU, removed]);
    await reached;
    // The added machine is on a page that was already read, and no notice names the removed one.
    const added = await service.machine({ id: 'a-first', gpu: GPU, reliability: 1 });
    await service.sql(
      `do $$ begin set local session_replication_role = replica; delete from machine where id = 'z-last'; end $$`,
    );
    release();
    await service.deps.inventory.readInFull();
    expect([await isOffered(added), await isOffered(removed)]).toEqual([true, false]);
  });
});

/** Rents a machine without a notice, like a gateway that crashes after its commit. */
async function rentWithoutNotice(accountId: string, machineId: string): Promise<void> {
  const elsewhere = await service.machine({ gpu: 'l4' });
  const { instance } = await deploy(service.deps, accountId, { machineId: elsewhere });
  await service.sql(
    `do $$ begin
       set local session_replication_role = replica;
       update instance set status = 'STOPPED', stopped_at = created_at, stop_reason = 'PREEMPTED', running_since = null where machine_id = '${machineId}';
       update instance set machine_id = '${machineId}', host_id = '${machineId}' where id = '${instance.id}';
     end $$`,
  );
}

it('machines rented by a crashed gateway leave the offers before the full reread', async () => {
  const id = await service.machine({ gpu: GPU, reliability: 1 });
  const held = await service.machine({ gpu: GPU, reliability: 1 });
  const { accountId } = await service.renter('1000');
  await deploy(service.deps, accountId, { machineId: held, mode: 'INTERRUPTIBLE' });
  expect(await isOffered(id)).toBe(true);
  const preemptible = async () => {
    const query = `{ offers(gpu: "${GPU}", includePreemptible: true, limit: 100) { machineId } }`;
    const { body } = await service.anyone.graphql(query);
    return body.data.offers.some(({ machineId }: { machineId: string }) => machineId === held);
  };
  expect(await preemptible()).toBe(true);
  const { names, reached, release } = holdPages(1);
  const peer = new pg.Client({
    connectionString: service.databaseUrl,
    application_name: 'gpu-rental-gateway notices',
  });
  // If an assertion fails, dropping the database disconnects it.
  peer.on('error', () => {});
  await peer.connect();
  // This is how a gateway announces itself.
  await peer.query(
    `select pg_notify('gateway', json_build_object('sender', 'peer',
       'connection', pid || ' ' || extract(epoch from backend_start))::text)
     from pg_stat_activity where pid = pg_backend_pid()`,
  );
  const since = (await peer.query('select clock_timestamp()::text as now')).rows[0].now;
  const seen = async () => {
    const [row] = await service.sql(
      `select count(*)::int as seen from pg_stat_activity gateway, pg_stat_activity peer
       where gateway.application_name = peer.application_name and gateway.datname = peer.datname
         and peer.pid = $1 and gateway.pid <> peer.pid
         and gateway.query like '%from pg_stat_activity%' and gateway.query_start > $2::timestamptz`,
      [(peer as unknown as { processID: number }).processID, since],
    );
    return row!.seen;
  };
  await expect.poll(seen, PATIENCE).toBe(1);
  for (const machineId of [id, held]) await rentWithoutNotice(accountId, machineId);
  await peer.end();
  await reached;
  // The pages are held back, so only the read of running instances can reveal the rental.
  await expect.poll(() => isOffered(id), PATIENCE).toBe(false);
  await expect.poll(preemptible, PATIENCE).toBe(false);
  expect(names.filter((name) => name === 'offered-page')).toHaveLength(1);
  release();
  await service.deps.inventory.readInFull();
  expect([await isOffered(id), await preemptible()]).toEqual([false, false]);
});

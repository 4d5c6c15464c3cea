import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { isLong, killsOf, randomFrom, seedOf } from '../../support/long.js';
import { openAccount } from '../../support/operator.js';
import { cleanUp, type GatewayProcess, query, startProcess } from '../../support/process.js';
import { until } from '../../support/until.js';
import { type Received, startReceiver } from '../../support/webhooks/receiver.js';

afterAll(cleanUp);

const KILLS = killsOf(20);
const MACHINES = 3;
/** Time from the first sent event to the kill. */
const KILLED_WITHIN_MS = 800;
/** Maximum operations per machine between two kills, because each event takes long to send. */
const RENTALS = 3;
const PATIENCE = { timeout: 240_000, interval: 500 };

const INSERT_MACHINES = `
  insert into machine (id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports,
    pcie, nvlink, cuda_max, reliability, state, created_at)
  select id, 'rtx-4090', 1, 'us-tx', 'AMD EPYC 9354', 32, 256, 1000, 5000, 4000, 128, 5, false, '12.8', 0.99, 'LISTED', '2026-11-01'
  from unnest($1::text[]) as id`;

/** Returns the ids of each instance's events, ordered by their first arrival. */
function firstComings(received: readonly Received[]): Map<string, string[]> {
  const seen = new Set<string>();
  const bySubject = new Map<string, string[]>();
  for (const { id, data } of received) {
    if (seen.has(id)) continue;
    seen.add(id);
    bySubject.set(data.instance, [...(bySubject.get(data.instance) ?? []), id]);
  }
  return bySubject;
}

test('webhooks deliver all events, signed and in order, even if gateways are killed', {
  timeout: isLong ? 1_800_000 : 300_000,
}, async () => {
  const chance = randomFrom(seedOf(28));
  const url = await createTestDatabase();
  const env = {
    DATABASE_URL: url,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    SECRETS_KEY: 'cd'.repeat(32),
    WEBHOOK_NETWORKS: '127.0.0.1',
  };
  // The receiver is slow, so each kill happens while some events wait and others are in flight.
  const taken: Received[] = [];
  const receiver = await startReceiver(async (event, response) => {
    await sleep(50 + chance(200));
    if (response.destroyed || response.socket?.destroyed !== false) return;
    taken.push(event);
    response.statusCode = 204;
  });
  let gateway: GatewayProcess = await startProcess(env);
  const { accountId, key } = await openAccount(env, '100000');
  const machines = Array.from({ length: MACHINES }, (_, index) => `m-${String(index).padStart(8, '0')}`);
  await query(url, INSERT_MACHINES, [machines]);
  const created = await client(gateway.address, key).graphql(
    'mutation ($url: String!) { createWebhook(url: $url) { secret } }',
    { url: receiver.url },
  );
  const { secret } = created.body.data.createWebhook;

  for (let kill = 0; kill < KILLS; kill += 1) {
    const renter = client(gateway.address, key, accountId);
    let isKilled = false;
    // Rents, stops, starts and destroys until the gateway is gone. An operation with a lost response may have been
    // committed as well.
    const renting = Promise.allSettled(
      machines.map(async (machine_id) => {
        for (let rentals = 0; !isKilled && rentals < RENTALS; rentals += 1) {
          const rented = await renter.rest('POST', '/instances', { machine_id });
          if (rented.status !== 201) return;
          for (const action of ['stop', 'start'])
            await renter.rest('POST', `/instances/${rented.body.id}/actions`, { action });
          await renter.rest('DELETE', `/instances/${rented.body.id}`);
        }
      }),
    );
    const before = receiver.received.length;
    await until('an event is sent', () => receiver.received.length > before, 60_000);
    await sleep(chance(KILLED_WITHIN_MS));
    isKilled = true;
    await gateway.kill();
    await renting;
    gateway = await startProcess(env);
    const left = client(gateway.address, key);
    for (const { id } of await query(url, `select id from instance where status <> 'DESTROYED'`))
      await left.rest('DELETE', `/instances/${id}`);
  }

  const waiting = async () =>
    (await query(url, 'select count(*)::int as waiting from webhook_delivery where is_pending'))[0]!.waiting;
  await expect.poll(waiting, PATIENCE).toBe(0);
  const told = await query(
    url,
    `select subject, array_agg(id order by sequence) as ids from event where type like 'instance.%' group by subject`,
  );
  const came = firstComings(taken);
  expect(told.length).toBeGreaterThanOrEqual(KILLS);
  for (const { subject, ids } of told) expect(came.get(subject as string), subject as string).toEqual(ids);
  for (const event of receiver.received) expect(receiver.verify(secret, event)).toMatchObject({ type: event.type });
  // Each instance's last event is its destruction, so no committed event is missing.
  const [{ missing } = { missing: null }] = await query(
    url,
    `select count(*)::int as missing from instance where not exists (
       select from event where subject = instance.id and type = 'instance.destroyed')`,
  );
  expect(missing).toBe(0);
  const twice = receiver.received.length - new Set(receiver.received.map(({ id }) => id)).size;
  console.info(`${KILLS} kills: ${receiver.received.length} deliveries, ${twice} of them again`);
  await gateway.end();
  await receiver.close();
});

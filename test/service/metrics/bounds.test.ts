import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { hardware } from '../../support/agent.js';
import { client } from '../../support/gateway.js';
import { scrape } from '../../support/metrics.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

let service: Service;
let address: string;

beforeAll(async () => {
  service = await startService({ metricsPort: 0 });
  address = service.metricsAddress!;
});
afterAll(() => service?.close());

/** Counts the queries for database figures. */
function countReadings(): { readings(): number; restore(): void } {
  const real = pg.Client.prototype.query;
  let readings = 0;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: never[]) {
    const [query] = args as unknown as [{ name?: string }];
    if (query.name === 'metrics') readings += 1;
    return (real as unknown as (...args: never[]) => never).apply(this, args);
  } as never);
  return { readings: () => readings, restore: () => spy.mockRestore() };
}

describe('the metrics endpoint', () => {
  it('has a dedicated port on localhost that serves nothing else', async () => {
    expect(new URL(address).hostname).toBe('127.0.0.1');
    expect((await fetch(`${service.address}/metrics`)).status).toBe(404);
    const base = address.replace(/\/metrics$/, '');
    for (const path of ['/', '/v1/balance', '/graphql', '/metrics/', '/healthz'])
      expect((await fetch(base + path)).status).toBe(404);
    expect((await fetch(address, { method: 'POST' })).status).toBe(405);
    const { headers } = await fetch(address);
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  it('is disabled by default', async () => {
    const plain = await startService();
    expect(plain.metricsAddress).toBeNull();
    await plain.close();
  });

  it('names its setting in the error if its port is already in use', async () => {
    const occupied = createServer().listen(0, '127.0.0.1');
    await once(occupied, 'listening');
    const { port } = occupied.address() as AddressInfo;
    await expect(startService({ metricsPort: port })).rejects.toThrow(
      `METRICS_PORT ${port} is in use by another program`,
    );
    occupied.close();
  });
});

describe('the database figures', () => {
  it('are read once for many concurrent and consecutive scrapes', async () => {
    const other = await startService({ metricsPort: 0 });
    const { readings, restore } = countReadings();
    const scrapes = () => Promise.all(Array.from({ length: 8 }, () => scrape(other.metricsAddress!)));
    const all = [...(await scrapes()), ...(await scrapes())];
    restore();
    await other.close();
    expect(readings()).toBe(1);
    for (const each of all) expect(each.find('gpu_rental_database_figures_up')).toBe(1);
  });

  it('follow changes to machines, agents and balances', async () => {
    const { code } = await enrol(service.deps, {
      machineId: null,
      gpu: null,
      region: 'us-tx',
      online: true,
      demo: false,
    });
    const agent = await WireAgent.join(service.address, code, hardware());
    await agent.report();
    await service.deps.fleet.heartbeats.flush();
    const renter = await service.renter('50');
    await renter.rest('POST', '/instances', { machine_id: await service.machine(), type: 'interruptible' });
    service.clock.advance(20);
    await expect
      .poll(async () => (await scrape(address)).find('gpu_rental_instances_running', { mode: 'interruptible' }), {
        timeout: 30_000,
      })
      .toBe(1);
    const now = await scrape(address);
    expect(now.find('gpu_rental_agents', { state: 'reachable' })).toBe(1);
    expect(now.find('gpu_rental_agents', { state: 'away' })).toBe(0);
    expect(now.find('gpu_rental_charged_usd')).toBeGreaterThan(0.0005);
    const charged = now.find('gpu_rental_charged_usd')! + now.find('gpu_rental_balances_usd')!;
    expect(charged).toBeCloseTo(now.find('gpu_rental_credited_usd')!, 5);
  });

  it('are reported as missing while the database is slow, without delaying the rest', async () => {
    const slow = await startService({ metricsPort: 0 });
    const locker = new pg.Client({ connectionString: slow.databaseUrl });
    await locker.connect();
    await locker.query('begin; lock table machine_host in access exclusive mode');
    const both = await Promise.all([scrape(slow.metricsAddress!), scrape(slow.metricsAddress!)]);
    for (const each of both) {
      expect(each.status).toBe(200);
      expect(each.find('gpu_rental_database_figures_up')).toBe(0);
      expect(each.find('gpu_rental_credited_usd')).toBeUndefined();
      expect(each.samples.some(({ name }) => name === 'gpu_rental_instances_running')).toBe(false);
      expect(each.find('gpu_rental_database_pool_connections', { state: 'busy' })).toBeGreaterThanOrEqual(1);
      expect(each.sum('gpu_rental_offers')).toBeGreaterThan(1_000);
    }
    await locker.query('rollback');
    await locker.end();
    await expect
      .poll(async () => (await scrape(slow.metricsAddress!)).find('gpu_rental_database_figures_up'), {
        timeout: 60_000,
      })
      .toBe(1);
    await slow.close();
  });
});

describe('the process counters', () => {
  it('include stops for exhausted credit, regardless of how it is detected', async () => {
    const renter = await service.renter('1');
    const machine_id = await service.machine({ gpu: 'rtx-4090', numGpus: 1 });
    expect((await renter.rest('POST', '/instances', { machine_id })).status).toBe(201);
    const stops = async () =>
      (await scrape(address)).find('gpu_rental_instance_stops_total', { reason: 'balance_exhausted' })!;
    const before = await stops();
    service.clock.advance(14_400);
    await renter.rest('GET', '/balance');
    expect((await stops()) - before).toBeGreaterThanOrEqual(1);
  });

  it("include the change notices' delay", async () => {
    const { find } = await scrape(address);
    expect(find('gpu_rental_change_notices_send_seconds_count')).toBeGreaterThan(0);
    expect(find('gpu_rental_change_notices_lag_seconds')).toBeLessThan(30);
  });
});

describe('metric labels', () => {
  it('have a limited number of methods, statuses and operation names', async () => {
    const renter = await service.renter();
    const anyone = client(service.address);
    for (let n = 0; n < 40; n += 1) await anyone.graphql(`query Anyone_${n} { regions { code } }`);
    for (let n = 0; n < 140; n += 1) await renter.graphql(`query Mine_${n} { regions { code } }`);
    await fetch(`${service.address}/v1/offers`, { method: 'PROPFIND' });
    const { samples, sum } = await scrape(address);
    const operations = samples.filter(({ name }) => name === 'gpu_rental_graphql_operations_total');
    const names = new Set(operations.map(({ labels }) => labels.operation));
    expect(names).toContain('Anyone_29');
    expect(names).not.toContain('Anyone_30');
    expect(names).toContain('Mine_99');
    expect(names).not.toContain('Mine_100');
    expect(names.size).toBeLessThanOrEqual(132);
    expect(sum('gpu_rental_graphql_operations_total', { operation: 'other' })).toBe(10 + 40);
    expect(sum('gpu_rental_http_request_duration_seconds_count', { method: 'other' })).toBe(1);
  });
});

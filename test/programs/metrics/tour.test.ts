import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prometheusText } from '../../../src/rest/prometheus.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { createTestDatabase } from '../../support/database.js';
import { type EventStream, subscribe } from '../../support/events.js';
import { client, type Renter } from '../../support/gateway.js';
import { type Scrape, scrape } from '../../support/metrics.js';
import { adminJson } from '../../support/operator.js';
import { cleanUp, type Env, type GatewayProcess, startProcess } from '../../support/process.js';
import { startRedis, type TestRedis } from '../../support/redis.js';
import { find, needs } from '../../support/tools.js';

/** The built gateway with every feature that has metrics, after a tour of typical renter actions. */
let gateway: GatewayProcess;
let redis: TestRedis | null = null;
let metricsAddress: string;
let renter: Renter;
let stream: EventStream;
let result: Scrape;
const LIMIT = 30;

beforeAll(async () => {
  const databaseUrl = await createTestDatabase();
  redis = find('redis-server') !== null ? await startRedis() : null;
  const env: Env = {
    DATABASE_URL: databaseUrl,
    DATABASE_REPLICA_URL: 'postgresql://127.0.0.1:1/none',
    SSH_PORT: '0',
    METRICS_PORT: '0',
    RATE_LIMIT_PER_MINUTE: String(LIMIT),
    MARKET_SOURCE: 'nowhere.csv',
    PAYMENTS: 'shkeeper',
    PAYMENTS_URL: 'http://127.0.0.1:1',
    PAYMENTS_KEY: 'a-key',
    ...(redis !== null && { REDIS_URL: redis.url }),
  };
  const account = await adminJson(['account', 'create', '--name', 'Ada Lovelace', '--credit', '10'], env);
  const key = await adminJson(['key', 'create', '--account', account.id], env);
  gateway = await startProcess(env);
  metricsAddress = /Metrics +(\S+)/.exec(gateway.stdout())![1]!;
  renter = client(gateway.address, key.api_key, account.id);
  await tour();
  result = await scrape(metricsAddress);
});
afterAll(async () => {
  stream?.abort();
  await cleanUp();
  await redis?.close();
});

async function tour(): Promise<void> {
  const { rest, graphql } = renter;
  const anyone = client(gateway.address);
  const { body: offers } = await anyone.rest('GET', '/offers?gpu=rtx-4090&limit=2');
  const [first, second] = offers.data.map((offer: { machine_id: string }) => offer.machine_id);
  for (let time = 0; time < 3; time += 1) await anyone.rest('GET', '/gpus/pricing');
  const { body: rented } = await rest('POST', '/instances', { machine_id: first }, { 'Idempotency-Key': 'one' });
  await rest('POST', '/instances', { machine_id: first }, { 'Idempotency-Key': 'one' });
  await rest('POST', '/instances', { machine_id: first });
  await rest('POST', '/instances', { machine_id: 'm-nowhere' });
  await rest('POST', '/instances', { machine_id: second, disk_gb: 100_000 });
  await rest('POST', '/instances', { machine_id: '' });
  await graphql('query Mine { balance { balance } instances { id } }');
  await graphql('{ balance { balance } }');
  await graphql('mutation Best { deployBest(input: {gpus: ["no-such-model"]}) { id } }');
  await graphql(`query Of_${renter.accountId.replace('-', '_')} { balance { balance } }`);
  await graphql('query Broken { nothing }');
  await anyone.rest('GET', '/balance');
  await anyone.rest('GET', `/instances/${renter.key}`);
  await rest('GET', '/instances/i-00000000');
  await graphql('mutation { createTopUp(input: {asset: "LTC", usd: 10, idempotencyKey: "t"}) { id } }');
  await rest('POST', `/instances/${rented.id}/actions`, { action: 'stop' });
  const interruptible = await rest('POST', '/instances', { machine_id: second, type: 'interruptible' });
  expect(interruptible.status).toBe(201);
  expect((await rest('POST', '/instances', { machine_id: second, disk_gb: 10 })).status).toBe(201);
  stream = await subscribe(gateway.address, 'subscription Money { balanceChanged { balance } }', { key: renter.key });
  while ((await rest('GET', '/balance')).status !== 429);
  // Offers are reread before the response.
  await anyone.rest('GET', '/gpus/pricing');
}

describe('the metrics after a tour', () => {
  const requests = (labels: Record<string, string>) =>
    result.sum('gpu_rental_http_request_duration_seconds_count', labels);

  it('count requests by method, route template and status', () => {
    expect(requests({ method: 'GET', route: '/v1/gpus/pricing', status: '200' })).toBeGreaterThanOrEqual(3);
    expect(requests({ method: 'POST', route: '/v1/instances', status: '201' })).toBe(4);
    expect(requests({ method: 'GET', route: '/v1/instances/{id}', status: '401' })).toBe(1);
    expect(requests({ method: 'GET', route: '/v1/instances/{id}', status: '404' })).toBe(1);
    expect(requests({ route: '/v1/balance', status: '429' })).toBe(1);
    expect(result.sum('gpu_rental_http_request_duration_seconds_sum', { route: '/v1/instances' })).toBeGreaterThan(0);
    expect(
      result.find('gpu_rental_http_request_duration_seconds_bucket', {
        method: 'POST',
        route: '/v1/instances',
        status: '201',
        le: '+Inf',
      }),
    ).toBe(4);
  });

  it('count GraphQL operations by name, except names that contain an id', () => {
    const count = (labels: Record<string, string>) => result.sum('gpu_rental_graphql_operations_total', labels);
    expect(count({ operation: 'Mine', type: 'query', result: 'ok' })).toBe(1);
    expect(count({ operation: 'Best', type: 'mutation' })).toBe(1);
    expect(count({ operation: 'anonymous' })).toBe(2);
    expect(count({ operation: 'other' })).toBe(1);
    expect(result.find('gpu_rental_graphql_operation_seconds_total', { operation: 'Mine' })).toBeGreaterThan(0);
  });

  it('count refusals by code and deploys by outcome', () => {
    const refusals = (code: string) => result.find('gpu_rental_refusals_total', { code });
    expect(refusals('unauthorized')).toBe(2);
    expect(refusals('not_found')).toBe(1);
    expect(refusals('rate_limited')).toBe(1);
    expect(refusals('missing_machine')).toBe(1);
    expect(refusals('deploy_failed')).toBe(4);
    const deploys = Object.fromEntries(
      result.samples
        .filter(({ name, value }) => name === 'gpu_rental_deploys_total' && value > 0)
        .map(({ labels, value }) => [labels.outcome, value]),
    );
    expect(deploys).toEqual({
      rented: 3,
      replayed: 1,
      taken: 1,
      unknown_machine: 1,
      disk: 1,
      nothing_fits: 1,
    });
  });

  it('count instance stops by reason', () => {
    expect(result.find('gpu_rental_instance_stops_total', { reason: 'user' })).toBe(1);
    expect(result.find('gpu_rental_instance_stops_total', { reason: 'preempted' })).toBe(1);
  });

  it('show rate limit decisions and open connections', () => {
    expect(result.find('gpu_rental_rate_limit_decisions_total', { decision: 'refused' })).toBe(1);
    expect(result.find('gpu_rental_rate_limit_decisions_total', { decision: 'admitted' })).toBeGreaterThan(10);
    expect(result.find('gpu_rental_event_streams_open')).toBe(1);
    expect(result.find('gpu_rental_change_notices_listening')).toBe(1);
    expect(result.find('gpu_rental_change_notices_send_seconds_count')).toBeGreaterThan(0);
    expect(result.find('gpu_rental_database_pool_wait_seconds_count')).toBeGreaterThan(10);
    expect(result.sum('gpu_rental_payment_processor_faults_total')).toBeGreaterThan(0);
  });

  it("show the database's state", async () => {
    const now = result;
    expect(now.find('gpu_rental_database_figures_up')).toBe(1);
    expect(now.sum('gpu_rental_instances_running')).toBe(1);
    expect(now.find('gpu_rental_instances_running', { gpu: 'rtx-4090', mode: 'on_demand' })).toBe(1);
    expect(now.find('gpu_rental_credited_usd')).toBe(110);
    expect(now.find('gpu_rental_charged_usd')).toBeGreaterThan(0);
    expect(now.find('gpu_rental_balances_usd')).toBeLessThan(110);
    expect(now.find('gpu_rental_accounts')).toBe(2);
    const free = (await client(gateway.address).rest('GET', '/gpus/pricing')).body.data;
    for (const { slug, available_gpus: gpus } of free)
      expect(now.find('gpu_rental_gpus_free', { gpu: slug })).toBe(gpus);
    expect(now.find('gpu_rental_price_sheet_timestamp_seconds')).toBe(Date.parse('2026-09-26') / 1_000);
  });

  it('don’t identify any account, key, instance, machine, name or address', () => {
    const labels = result.samples.flatMap(({ labels }) => Object.values(labels)).join('\n');
    for (const secret of [renter.key, renter.accountId, renter.accountId.slice(4), 'Ada', 'Lovelace', '127.0.0.1'])
      expect(labels).not.toContain(secret);
    expect(labels).not.toMatch(/\b[im]-[0-9a-f]{8}\b|[0-9a-f]{16}/);
  });

  it('are bounded in number and state whether they may be summed across gateways', () => {
    expect(result.samples.length).toBeLessThan(3_000);
    const helps = [...result.text.matchAll(/^# HELP (gpu_rental_\w+) (.*)$/gm)];
    expect(helps.length).toBeGreaterThan(35);
    for (const [, , help] of helps)
      expect(help).toMatch(/^This process only\. |^Database-wide, the same at every gateway: do not sum\. /);
  });
});

/** Returns the names in PromQL that are metrics of the gateway, Node or the process. */
function namesIn(text: string): string[] {
  return [...new Set(text.match(/\b(gpu_rental|nodejs|process)_\w+/g))];
}

function unknownNames(text: string, { text: scraped, samples }: Scrape): string[] {
  const known = new Set(samples.map(({ name }) => name));
  for (const [, name, type] of scraped.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const ending of endings) known.add(`${name}${ending}`);
  }
  return namesIn(text).filter((name) => !known.has(name));
}

const fileOf = (path: string) => readFileSync(join(PACKAGE_ROOT, path), 'utf8');
const FILES = ['deploy/grafana/dashboard.json', 'deploy/prometheus/rules.yml', 'deploy/prometheus/rules.cases.yml'];

describe('the dashboard and alert rules', () => {
  it.each(FILES)('name only existing metrics in %s', (path) => {
    const text = fileOf(path);
    // Not every computer has Redis.
    const unknown = unknownNames(text, result).filter((name) => redis !== null || name !== 'gpu_rental_redis_up');
    expect(unknown).toEqual([]);
    expect(namesIn(text).length).toBeGreaterThan(12);
    expect(unknownNames(text.replace('gpu_rental_agents', 'gpu_rental_agnets'), result)).toContain('gpu_rental_agnets');
  });

  it('can be imported unchanged, since every panel uses the selected data source', () => {
    const { panels, templating, uid } = JSON.parse(fileOf(FILES[0]!));
    expect(uid).toBe('gpu-rental-gateway');
    expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    const ids = panels.map(({ id }: { id: number }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, targets = [], datasource } of panels) {
      if (type === 'row') continue;
      expect(targets.length).toBeGreaterThan(0);
      for (const each of [{ datasource }, ...targets]) expect(each.datasource.uid).toMatch(/^\$\{datasource\}$/);
    }
  });

  it('show every gateway metric on the dashboard', () => {
    const shown = namesIn(fileOf(FILES[0]!)).map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    const ours = [...result.text.matchAll(/^# TYPE (gpu_rental_\w+)/gm)].map(([, name]) => name!);
    const LEFT_OUT = [
      'gpu_rental_database_figures_timestamp_seconds',
      'gpu_rental_database_pool_max_connections',
      'gpu_rental_market_recheck_failed_timestamp_seconds',
      'gpu_rental_market_recheck_succeeded_timestamp_seconds',
    ];
    expect(ours.filter((name) => !shown.includes(name)).sort()).toEqual(LEFT_OUT);
  });
});

describe('promtool', needs('promtool'), () => {
  const promtool = (args: string[], input?: string) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: join(PACKAGE_ROOT, 'deploy/prometheus'),
      encoding: 'utf8',
      input,
    });
    return { status, said: stdout + stderr };
  };

  it('finds no fault in the metrics, but reports a planted one', () => {
    expect(promtool(['check', 'metrics'], result.text)).toEqual({ status: 0, said: '' });
    const worse = result.text.replaceAll('gpu_rental_deploys_total', 'gpu_rental_deploys');
    expect(promtool(['check', 'metrics'], worse).said).toContain('counter metrics should have "_total" suffix');
  });

  it("finds no fault in an instance's metrics", () => {
    const gpu = {
      busyPercent: 97.5,
      memoryUsedMb: 20_000,
      memoryTotalMb: 24_564,
      powerWatts: 449.5,
      celsius: 83,
      smMhz: 2_520,
    };
    const gpus = [0, 1].map((place) => ({ ...gpu, place, faults: place === 0 ? 2 : null, processes: 1 }));
    const counts = { cpuPercent: 51.5, memoryUsedBytes: 9_007_199_254_740_991, diskUsedBytes: null, processes: 7 };
    const rates = { networkInBytesPerSecond: 12_500_000_000, networkOutBytesPerSecond: 0 };
    const load = { at: '2026-11-26T12:00:00Z', ...counts, ...rates, gpus };
    const text = prometheusText({ id: 'i-00000001', name: 'train-1', status: 'RUNNING', load });
    expect(promtool(['check', 'metrics'], text)).toEqual({ status: 0, said: '' });
  });

  it('accepts the scrape configuration and the rules', () => {
    expect(promtool(['check', 'config', 'prometheus.yml'])).toMatchObject({ status: 0 });
    expect(promtool(['check', 'rules', 'rules.yml'])).toMatchObject({ status: 0 });
  });

  it('confirms that each alert fires when it should and not before', () => {
    const { status, said } = promtool(['test', 'rules', 'rules.cases.yml']);
    expect(said).toContain('SUCCESS');
    expect(status).toBe(0);
    const tested = new Set([...fileOf(FILES[2]!).matchAll(/alertname: (\w+)/g)].map(([, name]) => name));
    expect([...tested].sort()).toEqual([...fileOf(FILES[1]!).matchAll(/alert: (\w+)/g)].map(([, name]) => name).sort());
  });
});

describe('docs/metrics.md', () => {
  it('lists every gateway metric verbatim', () => {
    const help = new Map(
      [...result.text.matchAll(/^# HELP (gpu_rental_\w+) (.*)$/gm)].map(([, name, is]) => [name, is]),
    );
    const rows = [...result.text.matchAll(/^# TYPE (gpu_rental_\w+) (\w+)$/gm)].map(
      ([, name, type]) => `| \`${name}\` | ${type} | ${help.get(name)} |`,
    );
    const listed = fileOf('docs/metrics.md').match(/^\| `gpu_rental_\w+` \|.*$/gm) ?? [];
    const withoutRedis = (row: string) => redis !== null || !row.includes('`gpu_rental_redis_up`');
    expect(listed.filter(withoutRedis).sort()).toEqual(rows.sort());
  });
});

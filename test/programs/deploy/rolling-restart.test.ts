import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { requestCaddy, startCaddy, type TestCaddy } from '../../support/deploy/caddy.js';
import { type Load, startLoad } from '../../support/deploy/load.js';
import { freePort } from '../../support/free-port.js';
import { client } from '../../support/gateway.js';
import { admin, openAccount } from '../../support/operator.js';
import {
  cleanUp,
  connect as connectDatabase,
  type Env,
  type GatewayProcess,
  query,
  startProcess,
} from '../../support/process.js';
import { needs } from '../../support/tools.js';
import { until } from '../../support/until.js';

/** Load workers, one per protocol. */
const WORKERS = 2;
/** Number of responses between two steps, enough for each kind of request over each protocol. */
const STEP = 24;
const PATIENT = { timeout: 300_000 };
const STREAM = '/agent/v1/streams/0123456789abcdef0123456789abcdef';

/** Returns the client-side port of the connection that waits for a lock held by this one. */
async function portBehind(lock: pg.Client): Promise<number | undefined> {
  const text = 'select client_port from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))';
  return (await lock.query(text)).rows[0]?.client_port;
}

/** Whether a process has a connection from this local port. */
function holdsPort(pid: number, port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/net/${table}`, 'utf8').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from]) => from?.endsWith(local))
    .map((columns) => `socket:[${columns[9]}]`);
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return inodes.includes(readlinkSync(`/proc/${pid}/fd/${fd}`));
    } catch {
      return false;
    }
  });
}

/** Sends requests on one connection for as long as the gateway keeps it open. */
function keptConnection({ address }: GatewayProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    get: (path: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        request(`${address}${path}`, { agent }, (response) => resolve(response.resume()))
          .once('error', reject)
          .end();
      }),
    end: () => agent.destroy(),
  };
}

afterAll(cleanUp);

describe('two gateways behind Caddy', needs('caddy'), () => {
  let databaseUrl: string;
  let key: string;
  let accountId: string;
  let machines: string[];
  let ports: number[];
  let gateways: GatewayProcess[];
  let caddy: TestCaddy;
  let load: Load | null = null;

  const start = (index: number): Promise<GatewayProcess> => {
    const env: Env = {
      DATABASE_URL: databaseUrl,
      PORT: String(ports[index]),
      RATE_LIMIT_PER_MINUTE: '0',
      TRUST_PROXY: '1',
      SERVICE_DOMAIN: caddy.serviceDomain,
      PUBLIC_URL: `https://${caddy.apiHost}:${caddy.port}`,
    };
    return startProcess(env);
  };
  /** Waits until Caddy routes requests to a gateway. Readiness checks of other programs don't count. */
  const isUsed = (gateway: GatewayProcess) =>
    expect.poll(() => /"route":"\/(v1|graphql)/.test(gateway.stderr()), { timeout: 60_000 }).toBe(true);
  const createRenter = () => openAccount({ DATABASE_URL: databaseUrl }, '10000');
  /** Dials like a host agent, but without a token. */
  const upgrade = (path: string) =>
    requestCaddy(caddy, {
      path,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    });
  const audit = async () => {
    const { code, stdout } = await admin(['audit'], { DATABASE_URL: databaseUrl });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/: no mismatch\n$/)]);
  };

  beforeAll(async () => {
    databaseUrl = await createTestDatabase();
    ports = [await freePort(), await freePort()];
    caddy = await startCaddy(ports);
    gateways = await Promise.all([start(0), start(1)]);
    ({ accountId, key } = await createRenter());
    const { body } = await client(gateways[0]!.address).rest('GET', '/offers?limit=100');
    machines = body.data.map(({ machine_id: id }: { machine_id: string }) => id);
  });
  afterEach(async () => {
    await load?.stop();
    load = null;
  });
  afterAll(() => caddy?.end());

  it('restart one after the other under load without failing a request', PATIENT, async () => {
    load = startLoad(caddy, { key, workers: WORKERS, machines: machines.slice(0, 20) });
    for (const index of [0, 1]) {
      await load.more(STEP);
      const connection = keptConnection(gateways[index]!);
      expect((await connection.get('/healthz')).headers.connection).toBe('keep-alive');
      gateways[index]!.signal('SIGTERM');
      // It still serves requests in its last second, and closes each connection after its response.
      const closes = async () => {
        const { statusCode, headers } = await connection.get('/v1/offers?limit=1');
        expect(statusCode).toBe(200);
        return headers.connection === 'close';
      };
      await until('it closes connections', closes, 30_000);
      connection.end();
      expect((await gateways[index]!.ended).code).toBe(0);
      await load.more(STEP);
      gateways[index] = await start(index);
      await isUsed(gateways[index]!);
    }
    await load.more(STEP);
    await load.stop();
    expect(load.failures()).toEqual([]);
    const kinds = ['offers', 'balance', 'query', 'deploy', 'stop', 'destroy'];
    const expected = kinds.flatMap((kind) => [`${kind} HTTP/1.1`, `${kind} HTTP/2`]);
    expect(Object.keys(load.counts()).sort()).toEqual(expected.sort());
    await audit();
  });

  it('answer 404 to /readyz, which only their load balancer needs', async () => {
    expect((await requestCaddy(caddy, { path: '/readyz' })).status).toBe(404);
  });

  it('serve the instances’ host names and have separate addresses for streams', async () => {
    const page = await requestCaddy(caddy, { path: '/', host: `i-00000000.${caddy.serviceDomain}` });
    expect([page.status, page.headers['content-type']]).toEqual([404, expect.stringMatching(/^text\/html/)]);
    for (const number of [1, 2]) {
      expect((await upgrade(`/gateway-${number}${STREAM}`)).status).toBe(401);
      expect((await requestCaddy(caddy, { path: `/gateway-${number}/v1/offers` })).status).toBe(404);
    }
  });

  it('lose only in-flight requests if one is killed, without renting twice on a retry', PATIENT, async () => {
    const [held, ...others] = machines.slice(20);
    const renter = await createRenter();
    const deploy = (apiKey: string, idempotencyKey: string, machineId: string) =>
      requestCaddy(caddy, {
        method: 'POST',
        path: '/v1/instances',
        headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': idempotencyKey },
        body: JSON.stringify({ machine_id: machineId, disk_gb: 1 }),
      });
    const instancesOf = async (account: string) =>
      (await query(databaseUrl, `select id from instance where account_id = '${account}'`)).map(({ id }) => id);

    load = startLoad(caddy, { key, workers: WORKERS, machines: others });
    await load.more(STEP);
    // The gateway to kill is the one whose database connection waits for the lock, because a deploy waits there.
    const lock = await connectDatabase(databaseUrl);
    await lock.query('begin');
    await lock.query('select from account where id = $1 for update', [renter.accountId]);
    const lost = deploy(renter.key, 'held', held!);
    const port = await until('the deploy waits for the lock', () => portBehind(lock), 30_000, 100);
    const index = gateways.findIndex(({ pid }) => holdsPort(pid, port));
    await gateways[index]!.kill();
    const answer = await lost;
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([502, 'unavailable']);
    await lock.query('rollback');
    await lock.end();
    await load.more(STEP);
    expect(await instancesOf(renter.accountId)).toEqual([]);
    const answers = [await deploy(renter.key, 'held', held!), await deploy(renter.key, 'held', held!)];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(await instancesOf(renter.accountId)).toEqual([JSON.parse(answers[0]!.text).id]);

    // Streams for the killed gateway are not routed to the other one.
    expect((await upgrade(`/gateway-${index + 1}${STREAM}`)).status).toBe(502);
    expect((await upgrade(`/gateway-${2 - index}${STREAM}`)).status).toBe(401);
    await load.stop();
    // Caddy retries a GET automatically.
    console.info(`killed: ${load.failures().length} of ${load.good()} requests failed`);
    for (const { kind, status, text } of load.failures()) {
      expect([kind, status]).toEqual([expect.stringMatching(/^(query|deploy|stop|destroy)$/), 502]);
      expect(JSON.parse(text).error.code).toBe('unavailable');
    }
    for (const { idempotencyKey, machineId } of load.failures().filter(({ kind }) => kind === 'deploy')) {
      expect((await deploy(key, idempotencyKey!, machineId!)).status).toBe(201);
    }
    expect(await instancesOf(accountId)).toEqual(expect.arrayContaining([...load.rented().values()]));
    await audit();
  });

  it('yield an error response in the usual format if both are down', async () => {
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    const { status, headers, text } = await requestCaddy(caddy, { path: '/v1/offers' });
    expect([status, headers['retry-after'], headers['content-type']]).toEqual([
      expect.toSatisfy((code: number) => code === 502 || code === 503),
      '1',
      'application/json; charset=utf-8',
    ]);
    expect(JSON.parse(text)).toEqual({ error: { code: 'unavailable', message: 'no gateway answers; try again' } });
  });
});

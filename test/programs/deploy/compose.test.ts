import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { requestCaddy, type TestCaddy } from '../../support/deploy/caddy.js';
import { Docker } from '../../support/deploy/docker.js';
import { startLoad } from '../../support/deploy/load.js';
import { buildStandIns, STAND_INS } from '../../support/deploy/stand-ins.js';
import { freePort } from '../../support/free-port.js';
import { client } from '../../support/gateway.js';
import { needsEngine, startEngine, type TestEngine } from '../../support/hosts/engines.js';
import { cleanUp, folder } from '../../support/process.js';
import { leftOut } from '../../support/tools.js';
import { until } from '../../support/until.js';

/*
 * Tests the image and compose.yaml on a real engine. Run `npm run test:deploy` as root, which takes some minutes.
 * Debian's packages replace the base images, so no image registry is needed. TEST_DEPLOY is 1 for a dedicated engine,
 * or the socket of a running engine, which keeps what it built.
 */
const WORKERS = 8;
const STEP = 300;
const HEALTHY_WITHIN_MS = 120_000;
const API_HOST = 'gateway.localhost';
const SERVICE_DOMAIN = 'instances.localhost';
const IMAGE = 'gpu-rental:latest';

const wanted =
  process.env.TEST_DEPLOY === undefined
    ? leftOut('TEST_DEPLOY', 'npm run test:deploy')
    : needsEngine('docker', 'docker', 'docker-compose', 'debootstrap');
const report = (what: string) => console.info(`  ${what}`);
const seconds = (since: number) => ((performance.now() - since) / 1_000).toFixed(1);

afterAll(cleanUp);

describe('the deployment', wanted, () => {
  let engine: TestEngine | null = null;
  let docker: Docker;

  const healthOf = (container: string) => docker.look(container, '{{.State.Health.Status}}');
  const isHealthy = (container: string) =>
    until(`${container} is healthy`, () => healthOf(container) === 'healthy', HEALTHY_WITHIN_MS);
  const inside = (container: string, ...command: string[]) => docker.run('exec', container, ...command);

  beforeAll(async () => {
    const socket = process.env.TEST_DEPLOY!;
    if (!socket.startsWith('/')) engine = await startEngine('docker', []);
    docker = new Docker(engine?.socket ?? socket);
    buildStandIns(docker);
    const startedAt = performance.now();
    docker.run('build', '--network', 'host', '-q', '--build-arg', `BASE=${STAND_INS.node}`, '-t', IMAGE, PACKAGE_ROOT);
    report(`built in ${seconds(startedAt)} s`);
  }, 1_200_000);
  afterAll(async () => {
    if (engine !== null)
      for (const id of docker.run('ps', '-aq').split('\n').filter(Boolean)) docker.run('rm', '-fv', id);
    await engine?.close();
  }, 120_000);

  it('ships an image with only the built programs, none writable by the image’s user', () => {
    const megabytes = (image: string) => Number(docker.look(image, '{{.Size}}')) / 1e6;
    report(`image ${megabytes(IMAGE).toFixed(0)} MB, of which its base ${megabytes(STAND_INS.node).toFixed(0)} MB`);
    expect(docker.look(IMAGE, '{{.Config.User}} {{.Config.StopSignal}} {{json .Config.Cmd}}')).toBe(
      '1000:1000 SIGTERM ["node","dist/gateway.mjs"]',
    );
    const there = docker.run('run', '--rm', IMAGE, 'sh', '-c', 'ls; ls node_modules; find . -user 1000');
    expect(there).not.toMatch(/^(src|test|bench|vitest|typescript|prisma\/schema|\.git|\.env)$/m);
    expect(there).toMatch(/^dist$/m);
    expect(docker.run('run', '--rm', IMAGE, 'gpu-agent', '--help')).toMatch(/^Usage: gpu-agent/);
    expect(docker.run('run', '--rm', IMAGE, 'admin', '--help')).toMatch(/^Usage: admin/);
  });

  it('serves from one read-only container with its own PostgreSQL', async () => {
    const port = await freePort();
    const options = ['-d', '--init', '--name', 'alone', '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL'];
    const startedAt = performance.now();
    docker.run(
      'run',
      ...options,
      '--security-opt',
      'no-new-privileges',
      '-v',
      'alone:/data',
      '-p',
      `127.0.0.1:${port}:4000`,
      IMAGE,
    );
    const address = `http://127.0.0.1:${port}`;
    const isReady = () =>
      fetch(`${address}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until('it is ready', isReady, HEALTHY_WITHIN_MS);
    report(`alone: ready after ${seconds(startedAt)} s`);
    await isHealthy('alone');
    expect(() => inside('alone', 'touch', '/srv/gateway/planted')).toThrow();

    const key = /gpu_live_[0-9a-f]{40}/.exec(docker.run('logs', 'alone'))![0];
    const renter = client(address, key);
    const { body } = await renter.rest('GET', '/offers?limit=1');
    const rented = await renter.rest('POST', '/instances', { machine_id: body.data[0].machine_id });
    expect(rented.status).toBe(201);
    expect(inside('alone', 'admin', 'audit')).toMatch(/no mismatch/);

    // Process 1 adopts a killed server's orphans. Node would leave them as zombies (15 in one trial).
    inside('alone', 'sh', '-c', 'kill -9 $(head -1 /data/postgres/postmaster.pid)');
    await until('it is down', async () => !(await isReady()), 10_000);
    await until('it is ready again', isReady, HEALTHY_WITHIN_MS);
    const states = inside('alone', 'sh', '-c', 'cat /proc/[0-9]*/stat')
      .split('\n')
      .map((line) => line.replace(/^.*\) /, '')[0]);
    expect(states.filter((state) => state === 'Z')).toEqual([]);

    const stoppedAt = performance.now();
    docker.run('stop', 'alone');
    report(`alone: ended after ${seconds(stoppedAt)} s`);
    expect(docker.look('alone', '{{.State.ExitCode}} {{.State.OOMKilled}}')).toBe('0 false');
    docker.run('start', 'alone');
    await until('it is ready after its restart', isReady, HEALTHY_WITHIN_MS);
    expect((await renter.rest('GET', `/instances/${rented.body.id}`)).body.status).toBe('running');
    docker.run('rm', '-f', 'alone');
    docker.run('volume', 'rm', 'alone');
  });

  describe('two gateways with PostgreSQL, Redis and Caddy', () => {
    let deploy: string;
    let caddy: TestCaddy;
    let sshPort: number;
    let key: string;
    let machines: string[];

    const compose = (...args: string[]) => docker.compose(deploy, ...args);
    const containerOf = (service: string) => compose('ps', '-q', service).trim();
    const adminJson = (...args: string[]) => JSON.parse(compose('exec', '-T', 'gateway-1', 'admin', ...args, '--json'));
    const audit = () => expect(compose('exec', '-T', 'gateway-2', 'admin', 'audit')).toMatch(/no mismatch/);
    /** Restarts a service and waits until it is healthy, as an operator does in a rolling restart. */
    const restart = async (service: string) => {
      await docker.composeLater(deploy, 'up', '-d', '--no-deps', '--force-recreate', service);
      await isHealthy(containerOf(service));
    };

    beforeAll(async () => {
      deploy = join(folder(), 'deploy');
      cpSync(join(PACKAGE_ROOT, 'deploy'), deploy, { recursive: true });
      const [httpPort, port] = [await freePort(), await freePort()];
      sshPort = await freePort();
      const values: Record<string, string> = {
        API_HOST,
        SERVICE_DOMAIN,
        POSTGRES_PASSWORD: 'planted1',
        SEED: 'demo',
        CADDY_GLOBAL: 'local_certs',
        HTTP_PORT: String(httpPort),
        HTTPS_PORT: String(port),
        SSH_PORT: String(sshPort),
        IMAGE,
        POSTGRES_IMAGE: STAND_INS.postgres,
        REDIS_IMAGE: STAND_INS.redis,
        CADDY_IMAGE: STAND_INS.caddy,
        RATE_LIMIT_PER_MINUTE: '1000000',
      };
      const example = readFileSync(join(deploy, '.env.example'), 'utf8');
      const lines = example
        .split('\n')
        .map((line) => line.replace(/^([A-Z_0-9]+)=.*$/, (_, name) => `${name}=${values[name] ?? ''}`));
      writeFileSync(join(deploy, '.env'), [...lines, 'RATE_LIMIT_PER_MINUTE=1000000'].join('\n'));
      const startedAt = performance.now();
      compose('up', '-d');
      for (const service of ['gateway-1', 'gateway-2']) await isHealthy(containerOf(service));
      report(`compose: both gateways healthy after ${seconds(startedAt)} s`);
      const root = '/data/caddy/pki/authorities/local/root.crt';
      const ca = await until(
        'Caddy has its authority',
        () => {
          try {
            return compose('exec', '-T', 'caddy', 'cat', root);
          } catch {
            return null;
          }
        },
        30_000,
      );
      const tls = (host = API_HOST) => ({ host: '127.0.0.1', port, servername: host, ca });
      caddy = { port, apiHost: API_HOST, serviceDomain: SERVICE_DOMAIN, tls, log: () => '', end: async () => {} };
      const { id } = adminJson('account', 'create', '--name', 'Load', '--credit', '10000');
      key = adminJson('key', 'create', '--account', id).api_key;
      const { text } = await requestCaddy(caddy, { path: '/v1/offers?limit=100' });
      machines = JSON.parse(text).data.map(({ machine_id }: { machine_id: string }) => machine_id);
    }, 300_000);
    afterAll(() => {
      if (deploy !== undefined) compose('down', '-v', '-t', '1');
    }, 120_000);

    it('start together on an empty database, which only one of them migrates', () => {
      const logs = ['gateway-1', 'gateway-2'].map(
        (service) =>
          docker.run('logs', containerOf(service)) +
          execFileSync('sh', ['-c', `docker logs ${containerOf(service)} 2>&1 >/dev/null`], {
            env: docker.env,
            encoding: 'utf8',
          }),
      );
      expect(logs.filter((log) => log.includes('applied database migrations'))).toHaveLength(1);
      audit();
      const first = compose('exec', '-T', 'gateway-1', 'cat', '/proc/1/cmdline').split('\0');
      expect(first.slice(0, 2)).toEqual(['node', 'dist/gateway.mjs']);
    });

    it('serve REST, GraphQL and SSH without exposing PostgreSQL or Redis', async () => {
      const headers = { authorization: `Bearer ${key}` };
      const call = async (method: string, path: string, body?: unknown) => {
        const { status, text } = await requestCaddy(caddy, {
          method,
          path,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return { status, body: JSON.parse(text) };
      };
      const rented = await call('POST', '/v1/instances', { machine_id: machines.at(-1) });
      expect(rented).toMatchObject({ status: 201, body: { hostname: `${rented.body.id}.${SERVICE_DOMAIN}` } });
      const asked = await call('POST', '/graphql', {
        query: `{ instance(id: "${rented.body.id}") { status ssh { host port } } }`,
      });
      expect(asked.body.data.instance).toEqual({ status: 'RUNNING', ssh: { host: SERVICE_DOMAIN, port: sshPort } });
      expect((await call('POST', `/v1/instances/${rented.body.id}/actions`, { action: 'stop' })).body.status).toBe(
        'stopped',
      );
      expect((await call('DELETE', `/v1/instances/${rented.body.id}`)).body.status).toBe('destroyed');
      expect((await call('GET', '/v1/gpus/pricing')).body.data[0].url).toMatch(`https://${API_HOST}/v1/offers`);
      expect((await requestCaddy(caddy, { path: '/', host: `i-00000000.${SERVICE_DOMAIN}` })).status).toBe(404);
      const greeting = execFileSync('bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${sshPort}; head -c 8 <&3`], {
        encoding: 'utf8',
      });
      expect(greeting).toBe('SSH-2.0-');
      for (const service of ['postgres', 'redis'])
        expect(docker.look(containerOf(service), '{{json .HostConfig.PortBindings}}')).toBe('{}');
    });

    it('restart one after the other under load without failing a request', async () => {
      const load = startLoad(caddy, { key, workers: WORKERS, machines: machines.slice(0, 20) });
      const startedAt = performance.now();
      for (const service of ['gateway-1', 'gateway-2']) {
        await load.more(STEP);
        await restart(service);
        await load.more(STEP);
      }
      await load.stop();
      report(`rolling restart: ${load.good()} requests in ${seconds(startedAt)} s, ${load.failures().length} failed`);
      expect(load.failures()).toEqual([]);
      audit();
    });

    it.each([
      ['gateway-2', 20, 45],
      ['postgres', 45, 85],
      ['redis', 85, 95],
    ])('lose no acknowledged data if %s is killed and restarted under load', async (service, from, to) => {
      const load = startLoad(caddy, { key, workers: WORKERS, machines: machines.slice(from, to) });
      await load.more(STEP);
      const container = containerOf(service);
      const pid = docker.look(container, '{{.State.Pid}}');
      process.kill(Number(pid), 'SIGKILL');
      await until(
        'it runs again',
        () => docker.look(container, '{{.State.Pid}} {{.State.Running}}') !== `${pid} true`,
        30_000,
      );
      await isHealthy(container);
      for (const gateway of ['gateway-1', 'gateway-2']) await isHealthy(containerOf(gateway));
      await load.more(STEP);
      await load.stop();
      const refused = load.failures().map(({ kind, status }) => `${kind} ${status}`);
      report(
        `${service} killed: ${refused.length} of ${load.good()} requests failed: ${[...new Set(refused)].sort().join(', ')}`,
      );
      if (service === 'redis') expect(refused).toEqual([]);
      for (const one of refused) expect(one).toMatch(/^\w+ 50[23]$/);
      const known = new Set(
        compose(
          'exec',
          '-T',
          'postgres',
          'psql',
          '-h',
          '/tmp',
          '-U',
          'gateway',
          '-Atc',
          'select id from instance',
        ).split('\n'),
      );
      expect([...load.rented().values()].filter((id) => !known.has(id))).toEqual([]);
      audit();
    });

    it('shut down cleanly on SIGTERM', async () => {
      const startedAt = performance.now();
      const containers = ['gateway-1', 'gateway-2', 'postgres', 'caddy', 'redis'].map(containerOf);
      compose('stop');
      report(`compose stop: ${seconds(startedAt)} s`);
      expect(containers.map((container) => docker.look(container, '{{.State.ExitCode}}'))).toEqual([
        '0',
        '0',
        '0',
        '0',
        '0',
      ]);
    });
  });
});

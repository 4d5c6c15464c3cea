// `npm run bench:gateways` runs one, two and four gateways on one PostgreSQL and one Redis, behind Caddy with TLS. It
// prints requests per second and where the CPU time goes. Nothing is pinned, so gateways, Caddy, PostgreSQL and the
// load generator share the machine's cores. On a small machine, those cores limit the total rather than the number of
// gateways.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { openServer, rowsOf } from './support/database.mjs';
import { fillAccounts, keyOf } from './support/fill.mjs';
import { inTurn, requestBytes, runLoad } from './support/load.mjs';
import { CONNECTIONS, PROJECT } from './support/settings.mjs';

const COUNTS = [1, 2, 4];
const ACCOUNTS = 200;
const WARM_UP_SECONDS = 5;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const API_HOST = 'gateway.localhost';
const TICKS_PER_SECOND = 100;
const STARTS_WITHIN_MS = 60_000;
const { PATH = '/usr/bin:/bin' } = process.env;

const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const children = [];

function start(file, args, env = {}) {
  const child = spawn(file, args, { cwd: folder, env: { PATH, HOME: folder, ...env }, stdio: 'ignore' });
  children.push(child);
  return child;
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

async function until(what, look) {
  const late = performance.now() + STARTS_WITHIN_MS;
  while (!(await look().catch(() => false))) {
    if (performance.now() > late) throw new Error(`timed out: ${what}`);
    await sleep(100);
  }
}

/** Returns the CPU seconds used by all threads of a process and, with `withChildren`, by its child processes. */
function cpuSeconds(pid, withChildren = false) {
  const ids = withChildren ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [pid];
  let ticks = 0;
  for (const each of ids) {
    try {
      const fields = readFileSync(`/proc/${each}/stat`, 'utf8').split(') ')[1].split(' ');
      if (Number(each) === pid || Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // The process has exited.
    }
  }
  return ticks / TICKS_PER_SECOND;
}

async function measure({ caddy, gateways, port, postmaster, ca }, clientOf, status) {
  const openSocket = async () => {
    const socket = connect({ host: '127.0.0.1', port, servername: API_HOST, ca });
    await once(socket, 'secureConnect');
    return socket.setNoDelay();
  };
  const run = (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf, status, openSocket });
  await run(WARM_UP_SECONDS);
  const used = () => ({
    gateways: gateways.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    caddy: cpuSeconds(caddy.pid),
    postgres: cpuSeconds(postmaster, true),
  });
  const before = used();
  const { perSecond, latenciesMs, generatorBusy } = await run(SECONDS);
  const after = used();
  latenciesMs.sort((one, other) => one - other);
  const share = (part) => `${Math.round(((after[part] - before[part]) / SECONDS) * 100)} %`.padStart(6);
  const at = (part) => latenciesMs[Math.floor(latenciesMs.length * part)].toFixed(1).padStart(6);
  return (
    `${Math.round(perSecond).toLocaleString('en').padStart(7)}/s   median ${at(0.5)} ms   p99 ${at(0.99)} ms   of a core:` +
    ` gateways ${share('gateways')}  Caddy ${share('caddy')}  PostgreSQL ${share('postgres')}  load ${Math.round(generatorBusy * 100)} %`
  );
}

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const server = await openServer(dataDir);
try {
  await server.create('gateways');
  const databaseUrl = server.urlOf('gateways');
  const redisPort = await freePort();
  start('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']);
  const main = join(PROJECT, 'dist/gateway.mjs');
  const startGateway = (port, seed) =>
    start(process.execPath, [main], {
      PORT: String(port),
      SSH_PORT: '',
      DATABASE_URL: databaseUrl,
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      RATE_LIMIT_PER_MINUTE: '1000000',
      TRUST_PROXY: '1',
      SEED: seed,
    });
  const answers = (port) => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok);
  const first = await freePort();
  const seeding = startGateway(first, 'demo');
  await until('a gateway is ready', () => answers(first));
  await fillAccounts(databaseUrl, { from: 1, to: ACCOUNTS, past: 0, stopped: 0 });
  const machines = (await rowsOf(databaseUrl, 'select id from machine order by id')).map(({ id }) => id);
  await end(seeding);
  const [postmaster] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n').map(Number);

  const bytesOf = (request) => requestBytes({ host: API_HOST, ...request });
  const keyHeader = (n) => ({ authorization: `Bearer ${keyOf(n)}` });
  const numbers = Array.from({ length: ACCOUNTS }, (_, index) => index + 1);
  const offers = () => inTurn([bytesOf({ path: '/v1/offers' })]);
  const balance = () => inTurn(numbers.map((n) => bytesOf({ path: '/v1/balance', headers: keyHeader(n) })));
  /** Each connection repeatedly rents and destroys its own machine, using its own account. */
  const rentals = () => {
    let clients = 0;
    return () => {
      const index = clients;
      clients = (clients + 1) % CONNECTIONS;
      const headers = keyHeader(index + 1);
      const body = JSON.stringify({ machine_id: machines[index], disk_gb: 50 });
      const deploy = bytesOf({ method: 'POST', path: '/v1/instances', headers, body });
      return {
        wantsBody: true,
        next: (isOver, answer) => {
          if (answer?.status === 201)
            return bytesOf({ method: 'DELETE', path: `/v1/instances/${JSON.parse(answer.body).id}`, headers });
          return isOver ? null : deploy;
        },
      };
    };
  };

  console.log(`${cpus().length} cores, ${CONNECTIONS} connections with TLS, ${SECONDS} s each`);
  for (const count of COUNTS) {
    const ports = await Promise.all(Array.from({ length: count }, freePort));
    const gateways = ports.map((port) => startGateway(port, 'none'));
    for (const port of ports) await until('a gateway is ready', () => answers(port));
    const [port, httpPort, home] = [await freePort(), await freePort(), mkdtempSync(join(folder, 'caddy-'))];
    const options = ['local_certs', 'skip_install_trust', 'admin off', `http_port ${httpPort}`, `https_port ${port}`];
    const [one, two = one, ...more] = ports.map((each) => `127.0.0.1:${each}`);
    const caddy = start('caddy', ['run', '--adapter', 'caddyfile', '--config', join(PROJECT, 'deploy/Caddyfile')], {
      XDG_CONFIG_HOME: home,
      XDG_DATA_HOME: home,
      API_HOST,
      SERVICE_DOMAIN: 'instances.localhost',
      CADDY_GLOBAL: [...options, `storage file_system ${home}`].join('\n'),
      INSTANCES_TLS: '',
      GATEWAY_1: one,
      GATEWAY_2: two,
      MORE_GATEWAYS: more.join(' '),
    });
    const root = join(home, 'pki/authorities/local/root.crt');
    await until('Caddy answers', async () => {
      if (!existsSync(root)) return false;
      const socket = connect({ host: '127.0.0.1', port, servername: API_HOST, ca: readFileSync(root) });
      await once(socket, 'secureConnect');
      socket.destroy();
      return true;
    });
    const setting = { caddy, gateways, port, postmaster, ca: readFileSync(root) };
    console.log(`\n${count} ${count === 1 ? 'gateway' : 'gateways'}`);
    console.log(`  GET /v1/offers        ${await measure(setting, offers(), 200)}`);
    console.log(`  GET /v1/balance       ${await measure(setting, balance(), 200)}`);
    console.log(`  rent, destroy         ${await measure(setting, rentals(), [201, 200])}`);
    await Promise.all([caddy, ...gateways].map(end));
  }
} finally {
  await Promise.all(children.map(end));
  await server.close();
  rmSync(dataDir, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}

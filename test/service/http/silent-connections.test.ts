import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { createMessages } from '../../../src/http/messages.js';
import { createHttpServer } from '../../../src/http/server.js';
import { whileBusy } from '../../support/busy.js';
import { startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}

/** Says something and nothing more, and never closes. */
async function say(port: number, words: string, localAddress = '127.0.0.1'): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => {}).resume();
  await new Promise<void>((resolve) => socket.write(words === '' ? '\r\n' : words, () => resolve()));
}

const join =
  'POST /agent/v1/join HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{';
const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const portOf = (address: string) => Number(new URL(address).port);

it('connections that are too slow are given back, though the other side never closes', async () => {
  const timeouts = { headersMs: 200, requestMs: 300, checkEveryMs: 50, idleMs: 400 };
  const server = createHttpServer(
    createMessages(),
    (request, response) => (request.url === '/' ? response.end() : request.resume()),
    timeouts,
  );
  const port = await listening(server);
  const count = () => new Promise<number>((resolve) => server.getConnections((_error, open) => resolve(open)));
  await Promise.all(['', 'GET / HT', join, 'nonsense\r\n\r\n', request].map((words) => say(port, words)));
  await expect.poll(count, { timeout: 30_000 }).toBe(0);
  server.close();
});

it('an idle connection is not closed before a proxy closes it, which would lose what it sends just then', async () => {
  const server = createHttpServer(createMessages(), (_request, response) => void response.end());
  const socket = connect(await listening(server), '127.0.0.1');
  sockets.push(socket);
  const answered = async () => {
    socket.write(request);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  };
  await answered();
  // Beyond what Node waits by itself.
  await sleep(6_500);
  expect(socket.closed).toBe(false);
  await answered();
  // Beyond the two minutes that Caddy keeps one.
  expect(server.keepAliveTimeout).toBeGreaterThan(125_000);
  server.close();
});

it('a host joins beside twenty bodies that never come, and the gateway ends as fast beside 550 of them', async () => {
  const service = await startService();
  const port = portOf(service.address);
  await Promise.all(Array.from({ length: 20 }, () => say(port, join, '127.0.0.9')));
  const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
  const agent = await WireAgent.join(service.address, (await enrol(service.deps, input)).code);
  expect(agent.machineId).toMatch(/^m-/);
  const words = ['', 'GET /healthz HTTP/1.1\r\nHo', join];
  await Promise.all(Array.from({ length: 550 }, (_, index) => say(port, words[index % 3]!, '127.0.0.10')));
  const began = performance.now();
  await service.close();
  expect(performance.now() - began).toBeLessThan(whileBusy(4_000));
});

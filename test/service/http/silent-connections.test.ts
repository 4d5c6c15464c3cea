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

/** Sends only this text and never closes the connection. */
async function sendOnly(port: number, text: string, localAddress = '127.0.0.1'): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => {}).resume();
  await new Promise<void>((resolve) => socket.write(text === '' ? '\r\n' : text, () => resolve()));
}

const join =
  'POST /agent/v1/join HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{';
const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const portOf = (address: string) => Number(new URL(address).port);

it("the server closes connections that are too slow, even if the client doesn't", async () => {
  const timeouts = { headersMs: 200, requestMs: 300, checkEveryMs: 50, idleMs: 400 };
  const server = createHttpServer(
    createMessages(),
    (request, response) => (request.url === '/' ? response.end() : request.resume()),
    timeouts,
  );
  const port = await listening(server);
  const count = () => new Promise<number>((resolve) => server.getConnections((_error, open) => resolve(open)));
  await Promise.all(['', 'GET / HT', join, 'nonsense\r\n\r\n', request].map((text) => sendOnly(port, text)));
  await expect.poll(count, { timeout: 30_000 }).toBe(0);
  server.close();
});

// Otherwise, a request that the proxy sends at that moment would be lost.
it('an idle connection is not closed before a proxy would close it', async () => {
  const server = createHttpServer(createMessages(), (_request, response) => void response.end());
  const socket = connect(await listening(server), '127.0.0.1');
  sockets.push(socket);
  const answered = async () => {
    socket.write(request);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  };
  await answered();
  // This is longer than Node's default.
  await sleep(6_500);
  expect(socket.closed).toBe(false);
  await answered();
  // This is longer than the two minutes for which Caddy keeps a connection.
  expect(server.keepAliveTimeout).toBeGreaterThan(125_000);
  server.close();
});

it("20 stalled bodies don't block a host's join, and 550 don't delay the shutdown", async () => {
  const service = await startService();
  const port = portOf(service.address);
  await Promise.all(Array.from({ length: 20 }, () => sendOnly(port, join, '127.0.0.9')));
  const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
  const agent = await WireAgent.join(service.address, (await enrol(service.deps, input)).code);
  expect(agent.machineId).toMatch(/^m-/);
  const texts = ['', 'GET /healthz HTTP/1.1\r\nHo', join];
  await Promise.all(Array.from({ length: 550 }, (_, index) => sendOnly(port, texts[index % 3]!, '127.0.0.10')));
  const startedAt = performance.now();
  await service.close();
  expect(performance.now() - startedAt).toBeLessThan(whileBusy(4_000));
});

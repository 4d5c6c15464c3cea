import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { createSendResult } from '../../../src/http/graphql/send-result.js';

const EVENT_BYTES = 262_144;
const send = createSendResult({ Response, ReadableStream, TextEncoder } as never);
let produced = 0;
let response: ServerResponse;

async function* state() {
  for (;;) {
    produced += 1;
    yield { data: { produced, rest: 'x'.repeat(EVENT_BYTES) } };
  }
}
const server = createServer((_request, answer) => {
  response = answer;
  void send(answer, 'text/event-stream', state() as never);
});
afterAll(() => server.closeAllConnections());

it('an event source stays at most one event ahead of a slow client', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const isIdle = async () => {
    const before = produced;
    await sleep(100);
    return produced > 0 && produced === before;
  };
  await expect.poll(isIdle, { timeout: 10_000, interval: 1 }).toBe(true);
  const { socket } = response;
  const sentBytes = socket!.bytesWritten - socket!.writableLength;
  expect(produced * EVENT_BYTES - sentBytes).toBeLessThanOrEqual(EVENT_BYTES);
  // Closing the stream ends the source.
  client.destroy();
  await expect.poll(() => response.destroyed, { timeout: 5_000 }).toBe(true);
  server.close();
});

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { keepReading } from '../../../src/agent/engine/keep-reading.js';

it('all output is read from an engine that closes without reading its input', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keep-reading-'));
  const path = join(folder, 'socket');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.pause();
    // Unread input makes the operating system reset the connection.
    socket.write('words', () => setTimeout(() => socket.destroy(), 50));
  }).listen(path);
  await once(server, 'listening');
  const socket = connect(path);
  keepReading(socket);
  await once(socket, 'connect');
  let written = 0;
  const closed = once(server, 'close');
  while (written < 200) {
    socket.write(Buffer.alloc(65_536));
    written += 1;
  }
  server.close();
  await closed;
  socket.write('more');
  await new Promise(setImmediate);
  expect(await text(socket)).toBe('words');
  rmSync(folder, { recursive: true });
});

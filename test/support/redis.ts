import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';

/** The test's own redis-server, which stores data only in memory. */
export interface TestRedis {
  url: string;
  /** Kills the server, whose data is lost. */
  kill(): Promise<void>;
  /** Starts another server at the same address. */
  start(): Promise<void>;
  /** Suspends the server. Connections remain open but get no responses. */
  freeze(): void;
  thaw(): void;
  /** A client to inspect the server. */
  client: Redis;
  close(): Promise<void>;
}

export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: 100 });
  client.on('error', () => {});
  let server: ChildProcess;
  const start = async () => {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    server = spawn('redis-server', options, { stdio: 'ignore' });
    await client.ping();
  };
  const kill = async () => {
    if (server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    url,
    client,
    start,
    kill,
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    close: async () => {
      client.disconnect();
      await kill();
    },
  };
}

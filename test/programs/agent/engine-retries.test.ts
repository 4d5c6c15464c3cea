import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { withRetries } from '../../../src/agent/retries.js';
import { openWire } from '../../support/client-wire.js';
import { startGateway } from '../../support/gateway.js';
import { runAgent } from '../../support/hosts/agent-process.js';
import { folder } from '../../support/process.js';
import { until } from '../../support/until.js';

const INFO = {
  Id: `sha256:${'a'.repeat(64)}`,
  RepoTags: ['mine:latest'],
  ServerVersion: '27.0',
  Driver: 'overlay2',
  DockerRootDir: '/',
  NCPU: 2,
  Runtimes: { runc: {} },
};

describe('the agent with an engine that doesn’t respond yet', () => {
  let server: Server;
  afterEach(() => server.close());

  /** Starts an engine that sends these responses in turn and then repeats the last one. */
  async function engine(...answers: ((response: ServerResponse) => void)[]): Promise<string> {
    const socket = join(folder(), 'engine.sock');
    server = createServer((_, response) => (answers.length > 1 ? answers.shift()! : answers[0]!)(response));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    return socket;
  }
  const hangUp = (response: ServerResponse) => response.destroy();
  const answer = (response: ServerResponse) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(INFO));
  };

  it('retries with a message and uses the engine once it responds', async () => {
    const socket = await engine(hangUp, answer);
    const { code, stdout, stderr } = await runAgent(['hardware', '--engine', socket, '--data-dir', folder()]).ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ engine: { name: 'docker', version: '27.0' } });
    const why = `${socket} is not responding: it closed the connection without responding`;
    expect(stderr).toBe(`gpu-agent: ${why}; retrying (attempt 2 of 3)\n`);
  });

  it('gives up after three tries', async () => {
    const socket = await engine(hangUp);
    const { code, stderr } = await runAgent(['hardware', '--engine', socket, '--data-dir', folder()]).ended;
    expect([code, stderr.trim().split('\n').length]).toEqual([2, 3]);
    expect(stderr).not.toContain('socket hang up');
  });

  it('waits longer on each attempt and states the wait in the error', async () => {
    const socket = await engine(() => {});
    await expect(openEngine(socket, null, null, 0, [50, 100])).rejects.toMatchObject({
      message: `${socket} is not responding: no response within 0.05 s`,
      mayAnswerLater: true,
    });
    await expect(openEngine(socket, null, null, 7, [50, 100])).rejects.toThrow('no response within 0.1 s');
  });

  it('joins as a single machine even if the response to the join is lost', async () => {
    const socket = await engine(answer);
    const gateway = await startGateway();
    const wire = await openWire(gateway.address);
    const url = wire.baseUrl.replace('/v1', '');
    const args = ['--engine', socket, '--data-dir', folder(), '--image', 'mine', '--url', url];
    wire.next('lose request', 'pass', 'lose answer');
    const agent = runAgent(['try', ...args], { DATABASE_URL: gateway.databaseUrl });
    await until('it runs', () => agent.stderr().includes('agent started'), 60_000);
    const [, id] = /This computer is machine (\S+) /.exec(agent.stdout())!;
    await agent.end('SIGTERM');
    expect(agent.stderr().match(/retrying \(attempt 2 of 3\)/g)).toHaveLength(2);
    const client = new pg.Client({ connectionString: gateway.databaseUrl });
    await client.connect();
    const { rows } = await client.query('select machine_id as id from machine_host');
    await client.end();
    await wire.close();
    await gateway.close();
    expect(rows).toEqual([{ id }]);
  });

  it('reports why the host can’t be enrolled', async () => {
    const socket = await engine(answer);
    const gateway = createServer((_, response) => response.writeHead(401).end('{}'));
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const args = ['try', '--engine', socket, '--data-dir', folder(), '--image', 'mine', '--url', url];
    const { code, stderr } = await runAgent(args, { DATABASE_URL: 'nonsense' }).ended;
    gateway.close();
    const why = "gpu-agent: can't enroll this computer: DATABASE_URL must be a URL such as";
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  });

  it('doesn’t retry if nothing listens on the socket', async () => {
    server = createServer();
    const socket = join(folder(), 'none.sock');
    await expect(openEngine(socket, null)).rejects.toMatchObject({ mayAnswerLater: false });
    const failed: string[] = [];
    const failing = withRetries(
      () => Promise.reject(new Error('never')),
      () => false,
      (message) => failed.push(message),
    );
    await expect(failing).rejects.toThrow('never');
    expect(failed).toEqual([]);
  });
});

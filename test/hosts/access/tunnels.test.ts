import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Tunnels } from '../../../src/access/tunnels.js';
import type { ExecTarget, TunnelTarget } from '../../../src/agent-protocol/tunnel-protocol.js';
import type { Gateway } from '../../../src/compose/gateway.js';
import { whileBusy } from '../../support/busy.js';
import { freePort } from '../../support/free-port.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { isRunning, processes, uniqueSleep } from '../../support/hosts/processes.js';
import { gatewayHere, RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { UNTIL_TERM } from '../../support/hosts/registry.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

/** Prints a line when it starts. */
const TALKS = 'talks';
const shell = (command: string | null, rest: Partial<ExecTarget> = {}): ExecTarget => ({
  kind: 'exec',
  command,
  argv: null,
  env: {},
  terminal: null,
  ...rest,
});

/** The agent polls one gateway and tunnels are requested at another, so the requests must be passed on. */
describe('tunnels to a container', needsEngine('podman'), () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let other: Gateway;
  let tunnels: Tunnels;
  let instanceId: string;

  const open = (target: TunnelTarget, changes: { accountId?: string; apiKeyId?: string | null } = {}) => {
    const opener = { accountId: renter.api.accountId, apiKeyId: null, sshKeyId: null, ...changes };
    return tunnels.open({ opener, instanceId, target });
  };
  const outputOf = async (command: string, input?: string) => {
    const tunnel = await open(shell(command));
    tunnel.end(input);
    const [stdout, stderr] = await Promise.all([text(tunnel), text(tunnel.stderr)]);
    return { stdout, stderr, code: tunnel.exitCode };
  };

  beforeAll(async () => {
    fleet = await RealFleet.open({}, { hasProcess: false });
    const command = ['/bin/sh', '-c', `echo begun; ${UNTIL_TERM}`];
    await fleet.template(TALKS, `${fleet.registry.at}/busybox`, { command });
    host = await fleet.host();
    renter = await fleet.renter();
    const PORT = String(await freePort());
    other = await gatewayHere({ ...fleet.env, PORT, STREAMS_URL: `http://127.0.0.1:${PORT}` });
    tunnels = other.tunnels;
    const { id } = await renter.deploy(host.machineId, { template: TALKS });
    instanceId = id;
    await renter.phase(id, 'RUNNING');
  });

  afterAll(async () => {
    await other?.close();
    await fleet?.close();
  });

  // This test comes first, because the end of a tunnel is recorded up to a minute later.
  it('count as activity for the idle stop, unless they only follow a log', async () => {
    const set = 'mutation ($id: ID!) { setStopWhenIdle(id: $id, stopWhenIdle: 1440) { id } }';
    expect((await renter.api.graphql(set, { id: instanceId })).body.errors).toBeUndefined();
    const activeAt = async () => {
      const text = 'select active_at as "activeAt" from idle_watch where instance_id = $1';
      const { rows } = await other.deps.db.pool.query<{ activeAt: bigint | null }>(text, [instanceId]);
      return rows[0]!.activeAt;
    };
    const log = await open({ kind: 'logs', tail: 1, since: null, follow: true });
    await other.deps.fleet.connections.write();
    expect(await activeAt()).toBe(null);
    const tunnel = await open(shell('cat'));
    await until('the use is written', activeAt, 20_000);
    log.destroy();
    tunnel.destroy();
  });

  it('run a command with all of its input, both output streams and its exit code', async () => {
    expect(await outputOf('cat; echo words >&2; exit 7', 'input')).toEqual({
      stdout: 'input',
      stderr: 'words\n',
      code: 7,
    });
  });

  it('deliver all output to a slow reader, however much there is', async () => {
    // A connection buffers a few MB, and the agent 256 kB. For one of these sizes, the agent still has the last bytes.
    const sizes = Array.from({ length: 32 }, (_, index) => (index + 1) * 250_000);
    const opened = [];
    // Commands started one at a time are all started by the runtime. Podman itself may lose the last output.
    for (const size of sizes) opened.push(await open(shell(`head -c ${size} /dev/zero; exit 4`)));
    await sleep(2_000);
    const read = opened.map(async (tunnel) => [(await text(tunnel)).length, tunnel.exitCode]);
    expect(await Promise.all(read)).toEqual(sizes.map((size) => [size, 4]));
  });

  it('open a port quickly, even if another gateway must forward the request', async () => {
    const times: number[] = [];
    for (let turn = 0; turn < 15; turn += 1) {
      const began = performance.now();
      await expect(open({ kind: 'port', port: 9 })).rejects.toMatchObject({ reason: 'no_listener' });
      times.push(performance.now() - began);
    }
    // The agent must start its first program for ports. That takes 25 ms on an idle machine, far less than the second
    // between two polls.
    expect(times.sort((a, b) => a - b)[7]).toBeLessThan(whileBusy(800));
  });

  it('read the container’s output with the stream and time of each line', async () => {
    const tunnel = await open({ kind: 'logs', tail: 10, since: null, follow: false });
    tunnel.end();
    const [stdout] = await Promise.all([text(tunnel), text(tunnel.stderr)]);
    expect(stdout).toMatch(/^o\d{4}-\d\d-\d\dT\S+ begun\n$/);
  });

  it('are refused for unknown instances, other accounts and unknown keys', async () => {
    const refused = (changes: object, id = instanceId) =>
      expect(
        tunnels.open({
          opener: { accountId: renter.api.accountId, apiKeyId: null, sshKeyId: null, ...changes },
          instanceId: id,
          target: shell('true'),
        }),
      ).rejects;
    await refused({}, 'i-00000000').toMatchObject({ reason: 'unknown' });
    await refused({}, "i-0'; --").toMatchObject({ reason: 'unknown' });
    await refused({ accountId: (await fleet.renter()).api.accountId }).toMatchObject({ reason: 'unknown' });
    await refused({ apiKeyId: 'key-0000000000000000' }).toMatchObject({ reason: 'unknown' });
    await refused({ sshKeyId: 'ssh-0000000000000000' }).toMatchObject({ reason: 'unknown' });
  });

  it('are accepted only from the machine asked to open them', async () => {
    const foreign = await fleet.enrolled();
    const path = `${other.address}/agent/v1/streams/${'0'.repeat(32)}`;
    const dial = (authorization: string) =>
      new Promise<number>((resolve) => {
        const socket = new WebSocket(path.replace('http', 'ws'), { headers: { authorization } });
        socket.on('unexpected-response', (_request, response) => resolve(response.statusCode!));
        socket.on('open', () => resolve(101));
        socket.on('error', () => {});
      });
    expect(await dial('Bearer nobody')).toBe(401);
    expect(await dial(`Bearer ${renter.api.key}`)).toBe(401);
    expect(await dial(`Bearer ${foreign.token}`)).toBe(404);
  });

  it('leave nothing behind if the request is abandoned while the engine hangs', async () => {
    const opener = { accountId: renter.api.accountId, apiKeyId: null, sshKeyId: null };
    const command = uniqueSleep();
    const wanted = { opener, instanceId, target: shell(`exec ${command}`) };
    const [engine] = processes((commandLine) => commandLine.endsWith(`unix://${fleet.engine.socket}`));
    process.kill(engine!, 'SIGSTOP');
    try {
      await expect(tunnels.open(wanted, AbortSignal.timeout(4_000))).rejects.toMatchObject({ reason: 'cancelled' });
    } finally {
      // Later test files use this engine too.
      process.kill(engine!, 'SIGCONT');
    }
    expect((await outputOf('echo the engine answers')).code).toBe(0);
    const isLeft = () => processes((commandLine) => commandLine.includes(command)).length > 0;
    await until('it has ended', () => !isLeft(), 30_000, POLL_EVERY_MS);
  });

  it('end a command that reads no input when the other side disconnects', {
    timeout: 90_000,
  }, async () => {
    // The first input fits into the tunnel and ends. The second one doesn't fit.
    const inputs = [
      { command: uniqueSleep(), input: Buffer.alloc(200_000), hasEnd: true },
      { command: uniqueSleep(), input: Buffer.alloc(3_000_000), hasEnd: false },
    ];
    for (const { command, input, hasEnd } of inputs) {
      const tunnel = await open(shell(`exec ${command}`));
      await until('it runs', () => isRunning(command), 30_000, POLL_EVERY_MS);
      tunnel.write(input);
      if (hasEnd) tunnel.end();
      await sleep(500);
      tunnel.destroy();
    }
    for (const { command } of inputs) await until('it has ended', () => !isRunning(command), 70_000, 500);
  });

  it('end when their key is revoked and free their slots', async () => {
    const { body } = await renter.api.graphql('mutation { createApiKey { apiKey { id } } }');
    const apiKeyId = body.data.createApiKey.apiKey.id;
    const tunnel = await open(shell('cat'), { apiKeyId });
    const closed = new Promise((resolve) => tunnel.on('error', () => {}).once('close', resolve));
    const before = tunnels.size;
    await renter.api.graphql(`mutation { revokeApiKey(id: "${apiKeyId}") { id } }`);
    await closed;
    expect(tunnels.size).toBe(before - 1);
  });
});

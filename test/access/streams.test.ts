import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentStream, Streams } from '../../src/access/streams.js';
import type { ExecTarget, StreamTarget } from '../../src/agent/stream-protocol.js';
import { type Gateway, openGateway } from '../../src/compose.js';
import { readConfig } from '../../src/config.js';
import { systemClock } from '../../src/system-clock.js';
import { whyNot } from '../agent/support/engines.js';
import { until } from '../agent/support/until.js';
import { freePort, RealFleet, type RealHost, type RealRenter } from '../fleet/support/real-fleet.js';

const why = whyNot('podman');
const shell = (command: string | null, rest: Partial<ExecTarget> = {}): ExecTarget => ({
  kind: 'exec',
  command,
  argv: null,
  env: {},
  terminal: null,
  ...rest,
});

/** The agent asks one gateway, the streams are wanted at another: what is wanted has to find its way. */
describe.skipIf(why !== null)('streams into a container', () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let other: Gateway;
  let streams: Streams;
  let instanceId: string;

  const open = (target: StreamTarget, changes: { accountId?: string; apiKeyId?: string | null } = {}) => {
    const opener = { accountId: renter.api.accountId, apiKeyId: null, sshKeyId: null, ...changes };
    return streams.open({ opener, instanceId, target });
  };
  const outputOf = async (command: string, input?: string) => {
    const stream = await open(shell(command));
    stream.end(input);
    const [stdout, stderr] = await Promise.all([text(stream), text(stream.stderr)]);
    return { stdout, stderr, code: stream.exitCode };
  };

  beforeAll(async () => {
    fleet = await RealFleet.open();
    host = await fleet.host();
    renter = await fleet.renter();
    const port = await freePort();
    other = await openGateway(
      {
        ...readConfig({}),
        port,
        sshPort: null,
        databaseUrl: fleet.env.DATABASE_URL!,
        streamsUrl: `http://127.0.0.1:${port}`,
        seed: 'none',
      },
      systemClock,
      pino({ level: 'silent' }),
    );
    streams = other.streams;
    const { id } = await renter.deploy(host.machineId);
    instanceId = id;
    await renter.phase(id, 'RUNNING');
  });

  afterAll(async () => {
    await other?.close();
    await fleet?.close();
  });

  it('runs a command: output, standard error, exit code, input to its end', async () => {
    expect(await outputOf('cat; echo words >&2; exit 7', 'input')).toEqual({
      stdout: 'input',
      stderr: 'words\n',
      code: 7,
    });
  });

  it('opens within 100 ms but for what the engine takes', async () => {
    await open({ kind: 'port', port: 9 }).catch(() => {});
    const times: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const began = performance.now();
      await open({ kind: 'port', port: 9 }).catch(() => {});
      times.push(performance.now() - began);
    }
    console.log('refused port, ms', times.map(Math.round));
    const exec: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const began = performance.now();
      await outputOf('true');
      exec.push(performance.now() - began);
    }
    console.log('exec true, ms', exec.map(Math.round));
  });
});

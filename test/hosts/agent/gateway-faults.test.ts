import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Agent } from '../../../src/agent/agent.js';
import { type AgentClock, hostClock } from '../../../src/agent/clock.js';
import { openDisks } from '../../../src/agent/disks.js';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { Gateway } from '../../../src/agent/gateway.js';
import { openGpuAccess } from '../../../src/agent/gpus/gpu-access.js';
import { Registries } from '../../../src/agent/registries.js';
import { SecretFiles } from '../../../src/agent/secret-files.js';
import { StartRecords } from '../../../src/agent/start-records.js';
import { HostVolumes } from '../../../src/agent/volumes/host-volumes.js';
import { FullPipe } from '../../support/full-pipe.js';
import { desiredInstance, MACHINE, TestHost } from '../../support/hosts/agent-process.js';
import { needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { ScriptedGateway, TOKEN } from '../../support/hosts/scripted-gateway.js';
import { sharedEngine, sharedRegistry } from '../../support/hosts/shared.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const ID = 'i-00000001';
const CUT_OFF_SECONDS = 900;

/** The host's clock, which tests can advance. */
class MovedClock implements AgentClock {
  aheadMs = 0;
  now = () => hostClock.now() + this.aheadMs;
  sleep = hostClock.sleep;
}

describe('the agent with a misbehaving gateway', () => {
  const wanted = needsEngine('podman');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;
  let image: string;

  beforeAll(async () => {
    registry = await sharedRegistry();
    engine = await sharedEngine('podman');
    await registry.push('busybox');
    image = `${registry.at}/busybox`;
  });
  afterAll(async () => {
    await engine.close();
    await registry.close();
  });
  const open = async () => {
    gateway = await ScriptedGateway.open();
    host = new TestHost(engine, gateway);
  };
  const close = async () => {
    await host.close();
    await gateway.close();
  };

  describe('when responses are bad', () => {
    // One container is used throughout. Each mood begins and ends with a gateway that responds correctly.
    beforeAll(async () => {
      await open();
      host.start();
      gateway.setDesired([desiredInstance(ID, 'running', { image, gpus: 1 })]);
      await gateway.phase(ID, 'RUNNING', 30_000);
    });
    afterAll(close);

    it.each(['nonsense', 'half', 'fault', 'unauthorized', 'away'] as const)('changes nothing (%s)', async (mood) => {
      const { State } = await engine.docker.getContainer(`gpu-${ID}`).inspect();
      expect(State.Running).toBe(true);
      const before = gateway.answeredBadly;
      gateway.mood = mood;
      gateway.wake();
      await until('it has polled repeatedly', () => gateway.answeredBadly >= before + 3, 20_000);
      expect((await engine.docker.getContainer(`gpu-${ID}`).inspect()).State).toMatchObject({
        Running: true,
        StartedAt: State.StartedAt,
      });
      gateway.mood = 'good';
      // The agent follows the next document.
      const other = `i-000000${gateway.generation + 10}`;
      gateway.setDesired([desiredInstance(ID, 'running', { image, gpus: 1 }), desiredInstance(other, 'stopped')]);
      await gateway.phase(other, 'STOPPED', 60_000);
      expect(host.log).not.toContain(TOKEN);
    });

    it('stops containers again once the gateway responds correctly', async () => {
      gateway.setDesired([desiredInstance(ID, 'stopped', { image, gpus: 1 })]);
      await gateway.phase(ID, 'STOPPED', 60_000);
    });
  });

  describe('in other cases', () => {
    beforeEach(open);
    afterEach(close);

    it('isn’t blocked by an unread log when polling or shutting down', async () => {
      const pipe = new FullPipe();
      host.start({}, pipe.fd);
      await gateway.next();
      gateway.setDesired([desiredInstance(ID, 'running', { image, gpus: 1 })]);
      await gateway.phase(ID, 'RUNNING', 30_000);
      expect(pipe.read()).toBe('');
      await until('what it logged', () => pipe.read().includes('desired state received'), 5_000);
      pipe.fill();
      expect((await host.end())?.code).toBe(0);
      pipe.close();
    });

    it('logs only once, not every second, that the gateway is unreachable', async () => {
      host.start();
      await gateway.next();
      gateway.mood = 'away';
      gateway.wake();
      await until('it has polled repeatedly', () => gateway.answeredBadly >= 5, 30_000);
      expect(host.log.split('request to the gateway failed')).toHaveLength(2);
    });

    it('stops containers after 15 minutes offline and restarts them afterwards', async () => {
      const clock = new MovedClock();
      let contact: number | null = null;
      const opened = await openEngine(engine.socket, null);
      const log = pino({ level: 'silent' });
      const agent = new Agent({
        gateway: new Gateway(gateway.url, TOKEN),
        engine: opened,
        disks: openDisks(host.dataDir, 'none'),
        volumes: await HostVolumes.open(host.dataDir, ''),
        gpus: await openGpuAccess({ count: 1, name: 'GPU', vramMb: 1 }, opened, log),
        allowsFuse: false,
        pretended: true,
        registries: new Registries(engine.registries),
        ownImages: new Set(),
        clock,
        log,
        machineId: MACHINE,
        pullLimits: { seconds: 1_200, kbPerSecond: 100 },
        stopSeconds: 2,
        secretFiles: new SecretFiles(host.dataDir),
        records: new StartRecords(host.dataDir),
        cutOffSeconds: CUT_OFF_SECONDS,
        lastContact: {
          read: () => contact,
          write: (now) => {
            contact = now;
          },
        },
      });
      const runs = agent.run();
      const running = async () => (await engine.containers()).get(ID)?.running;
      const silence = (seconds: number) => {
        clock.aheadMs = contact! + seconds * 1_000 - hostClock.now();
      };
      try {
        // A stop by the agent doesn't count as the end of the command.
        gateway.setDesired([desiredInstance(ID, 'running', { image, gpus: 1, restart: 'NEVER' })]);
        await gateway.phase(ID, 'RUNNING', 30_000);
        gateway.mood = 'away';
        gateway.wake();
        silence(CUT_OFF_SECONDS - 60);
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        expect(await running()).toBe(true);
        // The time counts from the last response, which may have been in flight when the gateway became unreachable.
        silence(CUT_OFF_SECONDS);
        await until('stopped', async () => (await running()) === false, 15_000, POLL_EVERY_MS);
        // The document and its number are the same as before, but the agent requests the whole document.
        gateway.reports = [];
        gateway.mood = 'good';
        await until('running again', running, 20_000, POLL_EVERY_MS);
        await gateway.phase(ID, 'RUNNING');
      } finally {
        agent.end();
        await runs;
      }
    });

    it('counts the 15 minutes offline even if it is killed in the meantime', async () => {
      host.start();
      gateway.setDesired([desiredInstance(ID, 'running', { image, gpus: 1 })]);
      await gateway.phase(ID, 'RUNNING', 30_000);
      await host.end('SIGKILL');
      gateway.mood = 'away';
      host.start({ GPU_AGENT_CUT_OFF_SECONDS: '2' });
      await until('stopped', async () => (await engine.containers()).get(ID)?.running === false, 10_000, POLL_EVERY_MS);
    });
  });
});

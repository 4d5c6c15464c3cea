import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { seen } from '../../support/agent.js';
import { gpu } from '../../support/cli/command.js';
import { gpuInTerminal, readable } from '../../support/cli/gpu.js';
import type { Renter } from '../../support/gateway.js';
import { cleanUp, type Env, folder } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';
import { needs } from '../../support/tools.js';
import { WireAgent } from '../../support/wire-agent.js';

const MB = 1_000_000;

let service: Service;
let renter: Renter;
let env: Env;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
  env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: renter.key };
});
afterAll(async () => {
  await service?.close();
  await cleanUp();
});

/** An offered machine and its agent. */
async function machine(): Promise<WireAgent> {
  const { code } = await enrol(service.deps, {
    machineId: null,
    gpu: null,
    region: 'us-tx',
    online: true,
    demo: false,
  });
  const agent = await WireAgent.join(service.address, code);
  await agent.report();
  await service.deps.fleet.heartbeats.flush();
  await service.deps.db.notices.caughtUp();
  return agent;
}

/** Returns the instance in the agent's next document. */
async function told(agent: WireAgent): Promise<string> {
  const [instance] = (await agent.desired(20)).instances;
  expect(instance).toMatchObject({ phase: 'running' });
  return instance!.id;
}

describe('gpu deploy --wait', () => {
  it('exits with 0 once the container runs, but not before', async () => {
    const agent = await machine();
    const program = gpu(['deploy', agent.machineId, '--wait', '--quiet'], env);
    let ended = false;
    program.then(() => {
      ended = true;
    });
    const id = await told(agent);
    await agent.report([seen(id, 'PULLING', { pulledBytes: 12 * MB, totalBytes: 24 * MB })]);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(ended).toBe(false);
    await agent.report([seen(id, 'RUNNING')]);
    expect(await program).toEqual({ code: 0, stdout: `${id}\n`, stderr: '' });
  });

  it('exits with 1 and the engine’s message if the start fails permanently', async () => {
    const agent = await machine();
    const program = gpu(['deploy', agent.machineId, '--wait', '--template', 'registry.test/none:1'], env);
    const id = await told(agent);
    await agent.report([seen(id, 'FAILED', { message: 'manifest unknown: none\u001b[31m:1' })]);
    const { code, stdout, stderr } = await program;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)]);
    expect(stderr).toContain(`${id} is not running: failed, manifest unknown: none\\u001b[31m:1`);
    expect(stdout).toMatch(/^Status +running$/m);
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('stopped');
    const shown = await gpu(['show', id], env);
    expect(shown.stdout).toMatch(/^Status +stopped$/m);
    expect(shown.stdout).toContain('failed, manifest unknown: none\\u001b[31m:1');
  });

  it('exits with 1 if the instance is destroyed while it waits', async () => {
    const agent = await machine();
    const program = gpu(['deploy', agent.machineId, '--wait'], env);
    const id = await told(agent);
    await agent.report([seen(id, 'PULLING')]);
    await renter.rest('DELETE', `/instances/${id}`);
    await agent.desired();
    await agent.report([seen(id, 'ERASED')]);
    const { code, stderr } = await program;
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${id} is not running: erased`)]);
  });

  it('doesn’t wait if the machine has no host agent', async () => {
    const ended = await gpu(['deploy', await service.machine(), '--wait', '--quiet'], env);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('shows the pull’s progress in a terminal and then clears the line', needs('script'), async () => {
    const agent = await machine();
    const program = gpuInTerminal(['deploy', agent.machineId, '--wait'], env);
    onTestFinished(() => program.signal('SIGKILL'));
    const id = await told(agent);
    await agent.report([seen(id, 'PULLING', { pulledBytes: 12 * MB, totalBytes: 24 * MB })]);
    await program.says(/Pulling █{12}░{12} 12 of 24 MB/);
    await agent.report([seen(id, 'PULLING', { pulledBytes: 24 * MB, totalBytes: 24 * MB })]);
    await program.says(/Pulling █{24} 24 of 24 MB/);
    // The total size may be unknown.
    await agent.report([seen(id, 'PULLING', { pulledBytes: 3 * MB })]);
    await program.says(/Container: pulling, 3 MB/);
    await agent.report([seen(id, 'STARTING')]);
    await program.says(/Container: starting/);
    await agent.report([seen(id, 'RUNNING')]);
    const { code, stdout } = await program.ended;
    expect(code).toBe(0);
    // The line is cleared, and the cursor is visible again.
    expect(readable(stdout)).not.toMatch(/Pulling|Container: /);
  });
});

describe('gpu show', () => {
  it('shows the container’s state with its restarts and messages', async () => {
    const agent = await machine();
    const id = (await gpu(['deploy', agent.machineId, '--quiet'], env)).stdout.trim();
    expect(await told(agent)).toBe(id);
    const container = async () => /^Container +(.*)$/m.exec((await gpu(['show', id], env)).stdout)?.[1];
    expect(await container()).toBe('waiting');
    await agent.report([seen(id, 'PULLING', { pulledBytes: 12 * MB, totalBytes: 24 * MB })]);
    expect(await container()).toBe('pulling, 12 of 24 MB');
    await agent.report([seen(id, 'RUNNING')]);
    expect(await container()).toBe('running');
    await agent.report([seen(id, 'STARTING', { restarts: 3, exitCode: 137, message: 'ended with 137' })]);
    expect(await container()).toBe('starting, restarted 3 times, ended with 137');
    await agent.report([seen(id, 'EXITED', { exitCode: 137 })]);
    expect((await gpu(['show', id], env)).stdout).toMatch(/^Exit code +137 \(SIGKILL\)$/m);
    // Scripts get the service's response unchanged.
    const body = await fetch(`${service.address}/v1/instances/${id}`, {
      headers: { authorization: `Bearer ${renter.key}` },
    });
    expect((await gpu(['show', id, '--json'], env)).stdout).toBe(await body.text());
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ContainerDetail, Engine } from '../../../src/agent/engine/engine.js';
import { type GpuAccess, MissingGpus, openGpuAccess, wrongGpus } from '../../../src/agent/gpus/gpu-access.js';

const [A, B, C] = ['GPU-a', 'GPU-b', 'GPU-c'];
const log = pino({ level: 'silent' });
const docker = (...runtimes: string[]) => ({ info: { name: 'docker', runtimes } }) as unknown as Engine;

function container(nodes: string[], requested: string[] = []): ContainerDetail {
  const rest = { running: false, pid: null, exitCode: null, startedAt: '', imagePorts: [], engineId: '' };
  return { ...rest, instanceId: 'i-00000001', machineId: 'm-test', devices: { nodes, requested } };
}

describe('with a scripted driver', () => {
  let dir: string;
  let path: string | undefined;
  let access: GpuAccess;

  /** If null, the driver fails, as it does for a GPU that has fallen off the bus. */
  function says(uuids: readonly string[] | null): void {
    const lines = (uuids ?? []).map((uuid, index) => `echo "${index}, ${uuid}, NVIDIA L4, 23034, 4, 580.1"`);
    const script = ['#!/bin/sh', ...lines, `exit ${uuids === null ? 15 : 0}`].join('\n');
    writeFileSync(join(dir, 'nvidia-smi'), script, { mode: 0o755 });
  }

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gpu-access-'));
    path = process.env.PATH;
    process.env.PATH = `${dir}${delimiter}${path}`;
    says([A, B, C]);
    access = await openGpuAccess(null, docker('runc', 'nvidia'), log);
  });
  afterEach(() => {
    process.env.PATH = path;
    rmSync(dir, { recursive: true, force: true });
  });

  it('GPUs are assigned by UUID, or by number if the desired state has no UUIDs', async () => {
    expect(access.found).toEqual([A, B, C]);
    expect(await access.grant({ gpus: 2, gpuUuids: [C, A] })).toEqual({ kind: 'nvidia', uuids: [C, A] });
    expect(await access.grant({ gpus: 2 })).toEqual({ kind: 'nvidia', uuids: [A, B] });
    expect(await access.grant({ gpus: 0 })).toBeNull();
    await expect(access.grant({ gpus: 4 })).rejects.toThrow('does not have 4 GPUs');
    expect(access.grantedTo(container([], [C]))).toEqual([C]);
  });

  it('GPUs are looked up again before any is reported missing', async () => {
    says([C, A]);
    // The previous result is kept until the next lookup.
    expect(access.found).toEqual([A, B, C]);
    const missing = access.grant({ gpus: 2, gpuUuids: [A, 'GPU-d'] });
    await expect(missing).rejects.toThrow('1 of 2 GPUs are missing on this host: GPU-d');
    await expect(missing).rejects.toBeInstanceOf(MissingGpus);
    await expect(access.grant({ gpus: 1, gpuUuids: [B] })).rejects.toThrow(B);
    expect(access.found).toEqual([C, A]);
    says([B, C, A]);
    expect(await access.grant({ gpus: 1, gpuUuids: [B] })).toEqual({ kind: 'nvidia', uuids: [B] });
  });

  it('all GPUs are considered missing only once the driver has failed twice in a row', async () => {
    says(null);
    expect([await access.refresh(), access.found]).toEqual([false, [A, B, C]]);
    says([A, B]);
    expect([await access.refresh(), access.found]).toEqual([true, [A, B]]);
    says(null);
    expect([await access.refresh(), await access.refresh(), access.found]).toEqual([false, false, []]);
    const unknown = await openGpuAccess(null, docker('nvidia'), log);
    expect(unknown.found).toBeNull();
  });

  it('a container must have exactly the GPUs that were assigned to it', () => {
    const wrong = (nodes: string[], ...gpuUuids: string[]) =>
      wrongGpus(access, { gpus: gpuUuids.length, gpuUuids }, container(nodes));
    expect(wrong(['/dev/nvidia2', '/dev/nvidiactl', '/dev/nvidia0'], A, C)).toBeNull();
    expect(wrong(['/dev/nvidia0'], A, C)).toBe('the container has 1 of 2 GPUs');
    expect(wrong([], A)).toBe('the container has 0 of 1 GPUs');
    // The numbers have changed, as they can when the host reboots.
    expect(wrong(['/dev/nvidia1'], A)).toBe('the container has 0 of 1 GPUs');
    expect(wrong(['/dev/nvidia0', '/dev/nvidia1'], A)).toBe('the container has GPUs that were not assigned to it');
    expect(wrong(['/dev/nvidia0', '/dev/nvidia7'], A)).toBe('the container has GPUs that were not assigned to it');
    expect(wrong(['/dev/nvidia1'])).toBe('the container has GPUs that were not assigned to it');
    // A desired state without UUIDs only specifies how many GPUs are assigned.
    expect(wrongGpus(access, { gpus: 2 }, container(['/dev/nvidia1', '/dev/nvidia2']))).toBeNull();
    expect(wrongGpus(access, { gpus: 2 }, container(['/dev/nvidia1']))).toBe('the container has 1 of 2 GPUs');
  });

  it('a container may lack a lost GPU but may not have another one instead', async () => {
    says([A, C]);
    await access.refresh();
    const wrong = (...nodes: string[]) => wrongGpus(access, { gpus: 2, gpuUuids: [A, B] }, container(nodes));
    // The remaining GPUs have been renumbered. The missing GPU's device may still be present.
    expect([wrong('/dev/nvidia0', '/dev/nvidia9'), wrong('/dev/nvidia0')]).toEqual([null, null]);
    expect(wrong('/dev/nvidia0', '/dev/nvidia1')).toBe('the container has GPUs that were not assigned to it');
    expect(wrong('/dev/nvidia9')).toBe('the container has 0 of 2 GPUs');
  });

  it('CDI devices are identified by UUID, or by number if an earlier agent chose them', () => {
    const requested = [`nvidia.com/gpu=${C}`, 'nvidia.com/gpu=1', 'gpu-rental.local/nvidia=0', 'nvidia.com/gpu=9'];
    expect(access.grantedTo(container([], requested))).toEqual([C, B, A, 'nvidia.com/gpu=9']);
  });
});

it('simulated GPUs are also assigned by UUID and become numbered device nodes', async () => {
  const pretended = { count: 3, name: 'NVIDIA L4', vramMb: 23_034, uuids: [A, B] as string[] };
  const access = await openGpuAccess(pretended, docker(), log);
  expect(access.found).toEqual([A, B, 'GPU-pretended-2']);
  expect(await access.grant({ gpus: 1, gpuUuids: [B] })).toEqual({
    kind: 'nodes',
    nodes: [{ host: '/dev/zero', inside: '/dev/gpu-pretended1' }],
  });
  expect(access.grantedTo(container(['/dev/gpu-pretended1', '/dev/fuse']))).toEqual([B]);
});

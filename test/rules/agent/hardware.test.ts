import { describe, expect, it } from 'vitest';
import { PullCounter } from '../../../src/agent/engine/pull-progress.js';
import { readCuda, readGpus, readNvlink } from '../../../src/agent/gpus/nvidia-smi.js';
import { describe as wordsOf } from '../../../src/agent/join.js';
import type { Hardware } from '../../../src/agent-protocol/protocol.js';

describe("nvidia-smi's output", () => {
  it('is parsed for each GPU', () => {
    const csv = [
      '0, GPU-5c6d9b1e-0000-0000-0000-000000000000, NVIDIA H100 80GB HBM3, 81559, 5, 580.159.04',
      '1, GPU-5c6d9b1e-0000-0000-0000-000000000001, NVIDIA H100 80GB HBM3, 81559, [N/A], 580.159.04',
      '',
    ].join('\n');
    const { gpus, driver } = readGpus(csv);
    expect(driver).toBe('580.159.04');
    expect(gpus).toEqual([
      expect.objectContaining({ index: 0, name: 'NVIDIA H100 80GB HBM3', vramMb: 81_559, pcieGen: 5 }),
      expect.objectContaining({ index: 1, pcieGen: null }),
    ]);
  });

  it('yields no GPU if it is an error message', () => {
    const output =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver, check that it runs.\n";
    expect(readGpus(output)).toEqual({ gpus: [], driver: null });
    expect(readCuda(output)).toBeNull();
    expect(readNvlink(output)).toBe(false);
  });

  it('yields the newest CUDA version', () => {
    const text =
      'Timestamp                                 : Sun Nov 22 2026\nDriver Version                            : 580.159.04\nCUDA Version                              : 13.0\n';
    expect(readCuda(text)).toBe('13.0');
  });

  it.each([
    ['GPU0\t X \tNV18\t0-15\t0\nGPU1\tNV18\t X \t0-15\t0\n', true],
    ['GPU0\t X \tPHB\t0-15\t0\nGPU1\tPHB\t X \t0-15\t0\n', false],
    [
      '\tGPU0\tCPU Affinity\nGPU0\t X \t0-15\n\nLegend:\n  NV#  = Connection traversing a bonded set of # NVLinks\n',
      false,
    ],
  ])('shows whether GPUs are connected by NVLink', (matrix, linked) => {
    expect(readNvlink(`\tGPU0\tGPU1\tCPU Affinity\n${matrix}`)).toBe(linked);
  });
});

describe("a pull's progress", () => {
  it('is the sum over its layers and never decreases', () => {
    const counter = new PullCounter();
    const down = (id: string, current: number, total: number) =>
      counter.add({ id, status: 'Downloading', progressDetail: { current, total } });
    counter.add({ id: 'a', status: 'Already exists' });
    down('b', 10, 100);
    down('c', 0, 50);
    expect(counter.progress).toEqual({ pulledBytes: 10, totalBytes: 150 });
    down('b', 5, 100);
    expect(counter.progress.pulledBytes).toBe(10);
    counter.add({ id: 'b', status: 'Download complete' });
    expect(counter.progress).toEqual({ pulledBytes: 100, totalBytes: 150 });
  });
});

describe('the notes for a joining host', () => {
  const hardware: Hardware = {
    hostname: 'host',
    cpu: 'CPU',
    vcpus: 2,
    ramGb: 8,
    diskGb: 50,
    diskLimit: 'volume',
    engine: { name: 'podman', version: '4.3.1' },
    driver: null,
    cudaMax: null,
    gpus: [],
    nvlink: false,
    pretended: false,
  };
  const LITTLE = 'the gateway does not offer machines with less than 50 GB';

  it('mention a disk that is too small for the host to be offered', () => {
    expect(wordsOf({ ...hardware, diskGb: 49 })).toContain(LITTLE);
    expect(wordsOf(hardware)).not.toContain(LITTLE);
  });
});

import type { Hardware } from '../protocol.js';
import { outputOrNull } from '../shell.js';

export interface GpuFindings {
  gpus: Hardware['gpus'];
  driver: string | null;
  cudaMax: string | null;
  nvlink: boolean;
}

/** Where the driver's files lie when its folder is not on the path. */
const PROGRAMS = ['nvidia-smi', '/usr/local/nvidia/bin/nvidia-smi'];
const QUERY = 'index,uuid,name,memory.total,pcie.link.gen.max,driver_version';

/** No GPUs when there is no driver. */
export async function findGpus(): Promise<GpuFindings> {
  for (const program of PROGRAMS) {
    const csv = await query(program, QUERY);
    if (csv === null) continue;
    const { gpus, driver } = readGpus(csv);
    const cudaMax = readCuda((await outputOrNull(program, '-q')) ?? '');
    return { gpus, driver, cudaMax, nvlink: readNvlink((await outputOrNull(program, 'topo', '-m')) ?? '') };
  }
  return { gpus: [], driver: null, cudaMax: null, nvlink: false };
}

/** One line of comma-separated values for each GPU, by one process for all of them; null when there is no driver. */
export async function queryGpus(columns: string): Promise<string | null> {
  for (const program of PROGRAMS) {
    const csv = await query(program, columns);
    if (csv !== null) return csv;
  }
  return null;
}

function query(program: string, columns: string): Promise<string | null> {
  return outputOrNull(program, `--query-gpu=${columns}`, '--format=csv,noheader,nounits');
}

/** The lines of `--query-gpu`, in the order of QUERY; what the driver doesn't know is "[N/A]". */
export function readGpus(csv: string): Pick<GpuFindings, 'gpus' | 'driver'> {
  const rows = csv.split('\n').flatMap((line) => {
    const cells = line.split(',').map((cell) => cell.trim());
    return cells.length === 6 && /^\d+$/.test(cells[0]!)
      ? [cells as [string, string, string, string, string, string]]
      : [];
  });
  return {
    gpus: rows.map(([index, uuid, name, vramMb, pcieGen]) => ({
      index: Number(index),
      uuid,
      name,
      vramMb: wholeOrNull(vramMb) ?? 0,
      pcieGen: wholeOrNull(pcieGen),
    })),
    driver: rows[0]?.[5] ?? null,
  };
}

/** The newest CUDA that the driver runs, from `nvidia-smi -q`. */
export function readCuda(text: string): string | null {
  return /^CUDA Version\s*:\s*(\d+\.\d+)\s*$/m.exec(text)?.[1] ?? null;
}

/** Whether the matrix of `nvidia-smi topo -m` has a link of NVLink (NV1, NV18, …) between two GPUs. */
export function readNvlink(matrix: string): boolean {
  return matrix.split('\n').some((line) => /^\s*GPU\d+\s/.test(line) && /\sNV\d+(\s|$)/.test(line));
}

function wholeOrNull(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hardware } from '../../agent-protocol/protocol.js';
import { outputOrNull } from '../shell.js';
import { readTopology, type Topology } from './topology.js';

export interface GpuFindings {
  /** Ordered by index. */
  gpus: Hardware['gpus'];
  driver: string | null;
  cudaMax: string | null;
  nvlink: boolean;
  topology: Topology;
}

/** A GPU in the host's current numbering. After a reboot, both numbers may refer to a different GPU. */
export interface HostGpu {
  uuid: string;
  /** Number that the driver's tools use for the GPU. */
  index: number;
  /** Number of the GPU's device node, such as 0 in /dev/nvidia0. */
  minor: number;
}

/** Programs to try in order. The second is the driver's usual location if its folder is not on the path. */
const PROGRAMS = ['nvidia-smi', '/usr/local/nvidia/bin/nvidia-smi'];
const QUERY = 'index,uuid,name,memory.total,pcie.link.gen.max,driver_version';
/** The driver's own information on GPUs, with one folder per GPU. */
const DRIVER_DIR = '/proc/driver/nvidia/gpus';
/** Other values in this column, such as "[GPU is lost]", are not UUIDs. */
const UUID = /^GPU-[0-9A-Za-z-]{1,60}$/;

/** Finds the host's GPUs. The result is empty if there is no driver. */
export async function findGpus(): Promise<GpuFindings> {
  for (const program of PROGRAMS) {
    const csv = await query(program, QUERY);
    if (csv === null) continue;
    const { gpus, driver } = readGpus(csv);
    const cudaMax = readCuda((await outputOrNull(program, '-q')) ?? '');
    const matrix = (await outputOrNull(program, 'topo', '-m')) ?? '';
    return { gpus, driver, cudaMax, nvlink: readNvlink(matrix), topology: readTopology(matrix) };
  }
  return { gpus: [], driver: null, cudaMax: null, nvlink: false, topology: new Map() };
}

/** Returns the host's current GPUs, by index, or null if the driver does not respond. */
export async function listGpus(): Promise<HostGpu[] | null> {
  const csv = await queryGpus(QUERY);
  if (csv === null) return null;
  const minors = await readMinors(DRIVER_DIR);
  return readGpus(csv).gpus.map(({ uuid, index }) => ({ uuid, index, minor: minors.get(uuid) ?? index }));
}

/**
 * Returns the GPUs' device node numbers, which may differ from their indexes. The map is empty if the driver does not
 * provide them.
 */
export async function readMinors(dir: string): Promise<Map<string, number>> {
  const folders = await readdir(dir).catch(() => []);
  const texts = await Promise.all(
    folders.map((name) => readFile(join(dir, name, 'information'), 'utf8').catch(() => '')),
  );
  return new Map(
    texts.flatMap((text) => {
      const uuid = /^GPU UUID:\s*(\S+)\s*$/m.exec(text)?.[1];
      const minor = /^Device Minor:\s*(\d+)\s*$/m.exec(text)?.[1];
      return uuid === undefined || minor === undefined ? [] : [[uuid, Number(minor)] as const];
    }),
  );
}

/**
 * Returns one line of comma-separated values per GPU, using one process for all GPUs, or null if there is no driver.
 */
export function queryGpus(columns: string): Promise<string | null> {
  return byFirst((program) => query(program, columns));
}

/** Like `queryGpus`, but returns one line per compute process. */
export function queryComputeProcesses(columns: string): Promise<string | null> {
  return byFirst((program) => outputOrNull(program, `--query-compute-apps=${columns}`, '--format=csv,noheader'));
}

async function byFirst(run: (program: string) => Promise<string | null>): Promise<string | null> {
  for (const program of PROGRAMS) {
    const csv = await run(program);
    if (csv !== null) return csv;
  }
  return null;
}

function query(program: string, columns: string): Promise<string | null> {
  return outputOrNull(program, `--query-gpu=${columns}`, '--format=csv,noheader,nounits');
}

/** Parses the lines of `--query-gpu`, with columns in QUERY's order. The driver reports unknown values as "[N/A]". */
export function readGpus(csv: string): Pick<GpuFindings, 'gpus' | 'driver'> {
  const rows = csv.split('\n').flatMap((line) => {
    const cells = line.split(',').map((cell) => cell.trim());
    const [index = '', uuid = ''] = cells;
    return cells.length === 6 && /^\d+$/.test(index) && UUID.test(uuid)
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

/** Returns the newest CUDA version that the driver supports, from `nvidia-smi -q`. */
export function readCuda(text: string): string | null {
  return /^CUDA Version\s*:\s*(\d+\.\d+)\s*$/m.exec(text)?.[1] ?? null;
}

/** Whether the matrix from `nvidia-smi topo -m` contains an NVLink connection (NV1, NV18, …) between two GPUs. */
export function readNvlink(matrix: string): boolean {
  return matrix.split('\n').some((line) => /^\s*GPU\d+\s/.test(line) && /\sNV\d+(\s|$)/.test(line));
}

function wholeOrNull(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hardware } from '../protocol.js';
import { outputOrNull } from '../shell.js';
import { readTopology, type Topology } from './topology.js';

export interface GpuFindings {
  /** In the order of their indexes. */
  gpus: Hardware['gpus'];
  driver: string | null;
  cudaMax: string | null;
  nvlink: boolean;
  topology: Topology;
}

/** A GPU as the host has it now: after the host's next start, both numbers may be another GPU's. */
export interface HostGpu {
  uuid: string;
  /** Number by which the driver's tools name it. */
  index: number;
  /** Number of its device node, such as 0 in /dev/nvidia0. */
  minor: number;
}

/** Where the driver's files are when its folder is not on the path. */
const PROGRAMS = ['nvidia-smi', '/usr/local/nvidia/bin/nvidia-smi'];
const QUERY = 'index,uuid,name,memory.total,pcie.link.gen.max,driver_version';
/** The driver's own data on each GPU, in a folder for each. */
const DRIVER_DIR = '/proc/driver/nvidia/gpus';
/** Other values in this column, such as "[GPU is lost]", name no GPU. */
const UUID = /^GPU-[0-9A-Za-z-]{1,60}$/;

/** Returns no GPUs when there is no driver. */
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

/** GPUs that the host has now, by index; null when the driver does not answer. */
export async function listGpus(): Promise<HostGpu[] | null> {
  const csv = await queryGpus(QUERY);
  if (csv === null) return null;
  const minors = await readMinors(DRIVER_DIR);
  return readGpus(csv).gpus.map(({ uuid, index }) => ({ uuid, index, minor: minors.get(uuid) ?? index }));
}

/** Numbers of the GPUs' device nodes, which may differ from their indexes; none where the driver does not show them. */
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

/** Returns a line of comma-separated values per GPU, from one process for all of them; null when there is no driver. */
export function queryGpus(columns: string): Promise<string | null> {
  return byFirst((program) => query(program, columns));
}

/** As `queryGpus`, but with a line per process that computes on a GPU. */
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

/**
 * Parses the lines of `--query-gpu`, with columns in the order of QUERY; a value that the driver doesn't know is
 * "[N/A]".
 */
export function readGpus(csv: string): Pick<GpuFindings, 'gpus' | 'driver'> {
  const rows = csv.split('\n').flatMap((line) => {
    const cells = line.split(',').map((cell) => cell.trim());
    return cells.length === 6 && /^\d+$/.test(cells[0]!) && UUID.test(cells[1]!)
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

/** Newest CUDA version that the driver supports, from `nvidia-smi -q`. */
export function readCuda(text: string): string | null {
  return /^CUDA Version\s*:\s*(\d+\.\d+)\s*$/m.exec(text)?.[1] ?? null;
}

/** Whether the matrix of `nvidia-smi topo -m` has an NVLink connection (NV1, NV18, …) between two GPUs. */
export function readNvlink(matrix: string): boolean {
  return matrix.split('\n').some((line) => /^\s*GPU\d+\s/.test(line) && /\sNV\d+(\s|$)/.test(line));
}

function wholeOrNull(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

import { mkdir, readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostGpu } from './nvidia-smi.js';

/**
 * The Container Device Interface: a file that describes to the engine which nodes and files a named device consists of.
 */
interface CdiSpec {
  cdiVersion: string;
  kind: string;
  devices: { name: string; containerEdits: Edits }[];
  containerEdits: Edits;
}

interface Edits {
  deviceNodes?: { path: string; hostPath?: string }[];
  mounts?: { hostPath: string; containerPath: string; options: string[] }[];
}

/** Emptied at each start of the host, like device files. */
export const CDI_DIR = '/var/run/cdi';
const CDI_DIRS = ['/etc/cdi', CDI_DIR];
/** 0.3.0 has everything needed here, and older engines refuse a newer version. */
const CDI_VERSION = '0.3.0';

export const OWN_KIND = 'gpu-rental.local/nvidia';
export const SIMULATED_KIND = 'gpu-rental.local/pretended';
export const SIMULATED_NODE = /^gpu-pretended(\d+)$/;
const SIMULATED_DEVICES = 64;

const LIBRARY_DIRS = [
  '/usr/local/nvidia/lib64',
  '/usr/local/nvidia/lib',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib64',
  '/usr/lib/aarch64-linux-gnu',
];
/**
 * The driver's user-space half: it must have exactly the driver's version, so it comes from the host and not from the
 * image.
 */
const LIBRARY =
  /^(libcuda|libcudadebugger|libnvcuvid|libnvoptix|libnvidia-(ml|cfg|ptxjitcompiler|nvvm|opencl|encode|opticalflow|fbc|gpucomp|rtcore|eglcore|glcore|glsi|tls|allocator|ngx|sandboxutils))\.so\.1$|^libnvidia-(nvvm|eglcore|glcore|glsi|tls|rtcore|gpucomp|ngx|glvkspirv)\.so\.[\d.]+$|^libcuda\.so$|^libnvidia-nvvm\.so\.4$/;
const PROGRAM_DIRS = ['/usr/local/nvidia/bin', '/usr/bin'];
const PROGRAMS = ['nvidia-smi', 'nvidia-debugdump', 'nvidia-cuda-mps-control', 'nvidia-cuda-mps-server'];
/** Nodes that every user of a GPU needs, if the driver has made them. */
const SHARED_NODES = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset'];
const READ_ONLY = ['ro', 'nosuid', 'nodev', 'bind'];

export function simulatedSpec(): CdiSpec {
  const devices = Array.from({ length: SIMULATED_DEVICES }, (_, index) => ({
    name: String(index),
    containerEdits: { deviceNodes: [{ path: `/dev/gpu-pretended${index}`, hostPath: '/dev/zero' }] },
  }));
  return { cdiVersion: CDI_VERSION, kind: SIMULATED_KIND, devices, containerEdits: {} };
}

/**
 * For hosts without NVIDIA's container toolkit: nodes, libraries and programs of the driver. Libraries go where the
 * loader of Debian and Ubuntu images searches automatically; other images must add that folder to LD_LIBRARY_PATH. GPUs
 * are named by UUID; containers of earlier agents know them by the numbers of their nodes.
 */
export async function ownSpec(gpus: readonly HostGpu[]): Promise<CdiSpec> {
  const nodes = await readdir('/dev');
  const shared = SHARED_NODES.filter((name) => nodes.includes(name)).map((name) => ({ path: `/dev/${name}` }));
  return {
    cdiVersion: CDI_VERSION,
    kind: OWN_KIND,
    devices: gpus.flatMap(({ uuid, minor }) =>
      [uuid, String(minor)].map((name) => ({
        name,
        containerEdits: { deviceNodes: [{ path: `/dev/nvidia${minor}` }] },
      })),
    ),
    containerEdits: { deviceNodes: shared, mounts: [...(await libraries()), ...(await programs())] },
  };
}

async function libraries(): Promise<NonNullable<Edits['mounts']>> {
  const inside = process.arch === 'arm64' ? '/usr/lib/aarch64-linux-gnu' : '/usr/lib/x86_64-linux-gnu';
  // Each under the name that programs link to, from its actual location.
  return mountsOf(LIBRARY_DIRS, (name) => LIBRARY.test(name), inside);
}

async function programs(): Promise<NonNullable<Edits['mounts']>> {
  return mountsOf(PROGRAM_DIRS, (name) => PROGRAMS.includes(name), '/usr/bin');
}

async function mountsOf(dirs: string[], wanted: (name: string) => boolean, inside: string) {
  const found = new Map<string, string>();
  for (const dir of dirs) {
    for (const name of await readdir(dir).catch(() => [])) {
      if (wanted(name) && !found.has(name)) found.set(name, await realpath(join(dir, name)));
    }
  }
  return [...found].map(([name, hostPath]) => ({ hostPath, containerPath: join(inside, name), options: READ_ONLY }));
}

/** Writes all of it or nothing, since the engine may read at any time. Returns the file's path. */
export async function writeSpec(name: string, spec: CdiSpec): Promise<string> {
  const file = join(CDI_DIR, `${name}.json`);
  await mkdir(CDI_DIR, { recursive: true });
  // The engine reads every *.json there, so the unfinished file has another suffix.
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify(spec, null, 2));
  await rename(unfinished, file);
  return file;
}

/** Returns the text of the description that has devices of this kind; null for none. */
export async function readCdiKind(kind: string): Promise<string | null> {
  for (const dir of CDI_DIRS) {
    for (const name of await readdir(dir).catch(() => [])) {
      if (!/\.(json|ya?ml)$/.test(name)) continue;
      const text = await readFile(join(dir, name), 'utf8').catch(() => '');
      if (new RegExp(`kind"?\\s*:\\s*"?${kind.replace(/[.]/g, '\\.')}\\b`).test(text)) return text;
    }
  }
  return null;
}

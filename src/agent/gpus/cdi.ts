import { mkdir, readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostGpu } from './nvidia-smi.js';

/**
 * A Container Device Interface file. It describes the nodes and files that make up each named device, for the engine to
 * read.
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

/** Emptied on every boot, like the folder for device files. */
export const CDI_DIR = '/var/run/cdi';
const CDI_DIRS = ['/etc/cdi', CDI_DIR];
/** Version 0.3.0 has everything needed here, and older engines refuse newer versions. */
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
 * Matches the driver's user-space libraries. They must have exactly the driver's version, so they come from the host
 * and not from the image.
 */
const LIBRARY =
  /^(libcuda|libcudadebugger|libnvcuvid|libnvoptix|libnvidia-(ml|cfg|ptxjitcompiler|nvvm|opencl|encode|opticalflow|fbc|gpucomp|rtcore|eglcore|glcore|glsi|tls|allocator|ngx|sandboxutils))\.so\.1$|^libnvidia-(nvvm|eglcore|glcore|glsi|tls|rtcore|gpucomp|ngx|glvkspirv)\.so\.[\d.]+$|^libcuda\.so$|^libnvidia-nvvm\.so\.4$/;
const PROGRAM_DIRS = ['/usr/local/nvidia/bin', '/usr/bin'];
const PROGRAMS = ['nvidia-smi', 'nvidia-debugdump', 'nvidia-cuda-mps-control', 'nvidia-cuda-mps-server'];
/** Nodes that every GPU user needs, if the driver has created them. */
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
 * Returns a specification with the driver's nodes, libraries and programs, for hosts without NVIDIA's container
 * toolkit. The libraries are placed where the loader of Debian and Ubuntu images searches automatically. Other images
 * must add that folder to LD_LIBRARY_PATH. GPUs are named by UUID, and also by node number for containers created by
 * earlier agents.
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
  // Mounts each library from its actual location under the name that programs link to.
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

/** Writes the complete file atomically, since the engine may read it at any time. Returns the file's path. */
export async function writeSpec(name: string, spec: CdiSpec): Promise<string> {
  const file = join(CDI_DIR, `${name}.json`);
  await mkdir(CDI_DIR, { recursive: true });
  // The engine reads every *.json file there, so the unfinished file has another suffix.
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify(spec, null, 2));
  await rename(unfinished, file);
  return file;
}

/** Returns the content of the specification that has devices of this kind, or null if there is none. */
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

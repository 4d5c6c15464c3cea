import { basename } from 'node:path';
import type { Logger } from 'pino';
import type { ContainerDetail, Engine, GpuGrant } from '../engine/engine.js';
import type { Hardware } from '../protocol.js';
import { outputOrNull } from '../shell.js';
import {
  CDI_DIR,
  hasCdiKind,
  OWN_KIND,
  ownSpec,
  SIMULATED_KIND,
  SIMULATED_NODE,
  simulatedSpec,
  writeSpec,
} from './cdi.js';

/** How containers of this host get GPUs, and how to see that they have them. */
export interface GpuAccess {
  /** Of the host. */
  readonly count: number;
  /** For the first `count` GPUs: a machine is rented whole. Null when the host has fewer, or no way to give them. */
  grant(count: number): GpuGrant | null;
  /** GPUs that a container was given, by the engine's account of it: its own processes have no say in that. */
  given(container: ContainerDetail): number;
}

const NVIDIA_KIND = 'nvidia.com/gpu';
const NVIDIA_NODE = /^nvidia\d+$/;

export async function openGpuAccess(
  { gpus, pretended }: Pick<Hardware, 'gpus' | 'pretended'>,
  engine: Engine,
  log: Logger,
): Promise<GpuAccess> {
  const indexes = gpus.map(({ index }) => index);
  const grantAll = pretended ? await simulatedGrant(indexes, engine) : await realGrant(gpus, engine, log);
  return {
    count: indexes.length,
    grant: (count) => (count > indexes.length ? null : grantAll(count)),
    given: ({ devices }) => {
      const node = pretended ? SIMULATED_NODE : NVIDIA_NODE;
      return devices.requested + devices.nodes.filter((path) => node.test(basename(path))).length;
    },
  };
}

type Grant = (count: number) => GpuGrant | null;

async function realGrant(gpus: Hardware['gpus'], engine: Engine, log: Logger): Promise<Grant> {
  if (gpus.length === 0) return () => null;
  const { name, runtimes } = engine.info;
  if (name === 'docker' && runtimes.includes('nvidia')) {
    return (count) => ({ kind: 'nvidia', uuids: gpus.slice(0, count).map(({ uuid }) => uuid) });
  }
  const kind = await cdiKind(log);
  return (count) => ({ kind: 'cdi', names: gpus.slice(0, count).map(({ index }) => `${kind}=${index}`) });
}

/** The host's own description, else one that NVIDIA's tool writes, else the agent's. */
async function cdiKind(log: Logger): Promise<string> {
  if (await hasCdiKind(NVIDIA_KIND)) return NVIDIA_KIND;
  const made = await outputOrNull('nvidia-ctk', 'cdi', 'generate', `--output=${CDI_DIR}/nvidia.yaml`);
  if (made !== null && (await hasCdiKind(NVIDIA_KIND))) return NVIDIA_KIND;
  const file = await writeSpec('gpu-agent-nvidia', await ownSpec());
  log.info({ file }, 'the NVIDIA container toolkit is not installed: GPUs are described to the engine by the agent');
  return OWN_KIND;
}

/** Uses CDI where the engine takes it, as with real GPUs; else plain devices. */
async function simulatedGrant(indexes: number[], engine: Engine): Promise<Grant> {
  const written =
    engine.info.name === 'podman' &&
    (await writeSpec('gpu-agent-pretended', simulatedSpec()).then(
      () => true,
      () => false,
    ));
  return (count) => {
    const given = indexes.slice(0, count);
    if (written) return { kind: 'cdi', names: given.map((index) => `${SIMULATED_KIND}=${index}`) };
    return {
      kind: 'nodes',
      nodes: given.map((index) => ({ host: '/dev/zero', inside: `/dev/gpu-pretended${index}` })),
    };
  };
}

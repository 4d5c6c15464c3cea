import { basename } from 'node:path';
import type { Logger } from 'pino';
import type { DesiredInstance } from '../../agent-protocol/protocol.js';
import type { ContainerDetail, Engine, GpuGrant } from '../engine/engine.js';
import { type SimulatedGpus, simulatedGpus } from '../hardware.js';
import { outputOrNull } from '../shell.js';
import {
  CDI_DIR,
  OWN_KIND,
  ownSpec,
  readCdiKind,
  SIMULATED_KIND,
  SIMULATED_NODE,
  simulatedSpec,
  writeSpec,
} from './cdi.js';
import { type HostGpu, listGpus } from './nvidia-smi.js';

/** Exactly `gpuUuids`, or the host's first `gpus` GPUs if the document doesn't name any. */
export type WantedGpus = Pick<DesiredInstance, 'gpus' | 'gpuUuids'>;

/** Gives the host's containers their GPUs, and verifies that they have them. */
export interface GpuAccess {
  /** UUIDs of the host's GPUs, by index, or null until the driver has responded. */
  readonly found: readonly string[] | null;
  /** Checks again which GPUs exist, and returns whether the result is known. */
  refresh(): Promise<boolean>;
  /**
   * Returns the UUIDs of the GPUs that an instance must have. If its document doesn't name any, returns only those that
   * the host has.
   */
  uuids(wanted: WantedGpus): readonly string[];
  /**
   * Returns how the container gets its GPUs, or null if it needs none. Checks the host again, and rejects with
   * MissingGpus if it lacks a GPU.
   */
  grant(wanted: WantedGpus): Promise<GpuGrant | null>;
  /**
   * Returns the UUIDs of the GPUs that a container was given according to the engine, whose information the container's
   * own processes can't influence. A GPU that the host no longer has is represented by its device name.
   */
  grantedTo(container: ContainerDetail): string[];
}

/** Thrown if the host, or the container created by the engine, lacks rented GPUs. */
export class MissingGpus extends Error {}

/**
 * Returns why a container doesn't have exactly its GPUs, or null if it does. A running container continues even if the
 * host has lost one of its GPUs.
 */
export function wrongGpus(
  access: GpuAccess,
  { gpus, gpuUuids }: WantedGpus,
  container: ContainerDetail,
): string | null {
  const granted = access.grantedTo(container);
  const own = gpuUuids === undefined ? granted : gpuUuids.filter((uuid) => granted.includes(uuid));
  const isThere = (uuid: string) => access.found?.includes(uuid) ?? false;
  const lost = (gpuUuids ?? []).filter((uuid) => !own.includes(uuid) && !isThere(uuid)).length;
  const count = gpuUuids?.length ?? gpus;
  if (own.length + lost < count) return `the container has ${own.length} of ${count} GPUs`;
  const others = granted.filter((uuid) => !own.includes(uuid));
  return others.some(isThere) || others.length > lost ? 'the container has GPUs that were not assigned to it' : null;
}

const NVIDIA_KIND = 'nvidia.com/gpu';
const NVIDIA_NODE = /^nvidia(\d+)$/;
/** Number of consecutive queries that the driver can leave unanswered before its GPUs count as missing. */
const MAX_SILENT_QUERIES = 2;

type Grant = (gpus: readonly HostGpu[]) => GpuGrant;

/** Source of a host's GPUs. */
interface GpuSource {
  /** Resolves to null if the driver does not respond. */
  list(): Promise<HostGpu[] | null>;
  /** Describes these GPUs to the engine, if the engine needs that. */
  describe(gpus: readonly HostGpu[]): Promise<Grant>;
  /** Matches the device nodes of GPUs, with their minor numbers. */
  node: RegExp;
}

/** Opens access to the host's GPUs: the real ones if `pretended` is null, otherwise simulated ones. */
export async function openGpuAccess(pretended: SimulatedGpus | null, engine: Engine, log: Logger): Promise<GpuAccess> {
  const access = new HostGpus(pretended === null ? realGpus(engine, log) : pretendedGpus(pretended, engine));
  await access.refresh();
  return access;
}

class HostGpus implements GpuAccess {
  #gpus: readonly HostGpu[] | null = null;
  #grant: Grant | null = null;
  #silentQueries = 0;

  constructor(private readonly source: GpuSource) {}

  get found(): readonly string[] | null {
    return this.#gpus?.map(({ uuid }) => uuid) ?? null;
  }

  async refresh(): Promise<boolean> {
    const listed = await this.source.list();
    this.#silentQueries = listed === null ? this.#silentQueries + 1 : 0;
    if (listed === null && this.#silentQueries < MAX_SILENT_QUERIES) return false;
    const gpus = listed ?? [];
    if (gpus.length > 0 && JSON.stringify(gpus) !== JSON.stringify(this.#gpus)) {
      this.#grant = await this.source.describe(gpus);
    }
    this.#gpus = gpus;
    return listed !== null;
  }

  uuids({ gpus, gpuUuids }: WantedGpus): readonly string[] {
    return gpuUuids ?? this.found?.slice(0, gpus) ?? [];
  }

  async grant(wanted: WantedGpus): Promise<GpuGrant | null> {
    if (this.#missing(wanted) !== null) await this.refresh();
    const missing = this.#missing(wanted);
    if (missing !== null) throw new MissingGpus(missing);
    const wantedUuids = this.uuids(wanted);
    const gpus = wantedUuids.flatMap((uuid) => this.#gpus?.find((gpu) => gpu.uuid === uuid) ?? []);
    return gpus.length === 0 ? null : this.#grant!(gpus);
  }

  #missing(wanted: WantedGpus): string | null {
    const uuids = this.uuids(wanted);
    const missing = uuids.filter((uuid) => !this.found?.includes(uuid));
    if (missing.length > 0)
      return `${missing.length} of ${uuids.length} GPUs are missing on this host: ${missing.join(', ')}`;
    if (wanted.gpuUuids !== undefined || uuids.length >= wanted.gpus) return null;
    return `this host does not have ${wanted.gpus} GPUs`;
  }

  grantedTo({ devices }: ContainerDetail): string[] {
    const byNode = devices.nodes.flatMap((path) => {
      const minor = this.source.node.exec(basename(path))?.[1];
      return minor === undefined ? [] : [this.#uuidOf('minor', minor) ?? path];
    });
    return [...byNode, ...devices.requested.map((name) => this.#requested(name))];
  }

  /**
   * Returns the UUID of a requested device, which has a UUID or a number as its name, possibly after `kind=`. The
   * driver's tools number devices by index, and the agent by minor number.
   */
  #requested(name: string): string {
    const device = name.slice(name.indexOf('=') + 1);
    return /^\d+$/.test(device)
      ? (this.#uuidOf(name.startsWith(OWN_KIND) ? 'minor' : 'index', device) ?? name)
      : device;
  }

  #uuidOf(by: 'minor' | 'index', number: string): string | undefined {
    return this.#gpus?.find((gpu) => gpu[by] === Number(number))?.uuid;
  }
}

function realGpus(engine: Engine, log: Logger): GpuSource {
  const { name, runtimes } = engine.info;
  const hasRuntime = name === 'docker' && runtimes.includes('nvidia');
  return {
    list: listGpus,
    describe: async (gpus) => {
      if (hasRuntime) return (granted) => ({ kind: 'nvidia', uuids: granted.map(({ uuid }) => uuid) });
      const nameOf = await cdiNames(gpus, log);
      return (granted) => ({ kind: 'cdi', names: granted.map(nameOf) });
    },
    node: NVIDIA_NODE,
  };
}

/**
 * Uses the host's own CDI specification if there is one, otherwise one written by NVIDIA's tool, and otherwise the
 * agent's own. Some older specifications have no UUIDs.
 */
async function cdiNames(gpus: readonly HostGpu[], log: Logger): Promise<(gpu: HostGpu) => string> {
  const byNvidia = (await readCdiKind(NVIDIA_KIND)) ?? (await generated());
  if (byNvidia !== null) {
    return ({ uuid, index }) => `${NVIDIA_KIND}=${byNvidia.includes(uuid) ? uuid : index}`;
  }
  const file = await writeSpec('gpu-agent-nvidia', await ownSpec(gpus));
  log.info({ file }, 'NVIDIA container toolkit not installed; the agent wrote its own CDI description');
  return ({ uuid }) => `${OWN_KIND}=${uuid}`;
}

async function generated(): Promise<string | null> {
  const made = await outputOrNull('nvidia-ctk', 'cdi', 'generate', `--output=${CDI_DIR}/nvidia.yaml`);
  return made === null ? null : readCdiKind(NVIDIA_KIND);
}

/** Uses CDI if the engine supports it, as with real GPUs, otherwise plain devices. */
function pretendedGpus(pretended: SimulatedGpus, engine: Engine): GpuSource {
  const gpus = simulatedGpus(pretended).map(({ uuid, index }) => ({ uuid, index, minor: index }));
  return {
    list: async () => gpus,
    describe: async () => {
      const isWritten =
        engine.info.name === 'podman' &&
        (await writeSpec('gpu-agent-pretended', simulatedSpec()).then(
          () => true,
          () => false,
        ));
      if (isWritten)
        return (granted) => ({ kind: 'cdi', names: granted.map(({ minor }) => `${SIMULATED_KIND}=${minor}`) });
      const node = ({ minor }: HostGpu) => ({ host: '/dev/zero', inside: `/dev/gpu-pretended${minor}` });
      return (granted) => ({ kind: 'nodes', nodes: granted.map(node) });
    },
    node: SIMULATED_NODE,
  };
}

import { engineUser } from './container-user.js';
import {
  capabilitiesOf,
  DockerEngine,
  environment,
  FUSE_DEVICE,
  hasAppArmor,
  labels,
  MAX_LOG_BYTES,
  MAX_PIDS,
  mountsOf,
  sharedMemory,
  ulimits,
} from './docker.js';
import { type ContainerSpec, containerName, type Exec, type LogsSpec } from './engine.js';

const BYTES_PER_MB = 1_048_576;
const CPU_PERIOD_MICROSECONDS = 100_000;
const CREATE_MS = 180_000;
/** libpod's API as of Podman 4.0, which later versions still support. */
const API = '/v4.0.0/libpod/containers';

/** Uses Docker's API with Podman, except to create containers, because only Podman's own API supports CDI devices. */
export class PodmanEngine extends DockerEngine {
  /**
   * Creates the container in the runtime without starting its first process, because CDI devices don't appear in the
   * configuration until then.
   */
  override async prepare(instanceId: string): Promise<void> {
    await super.prepare(instanceId);
    await this.dial('POST', `${API}/${containerName(instanceId)}/init`, CREATE_MS, {}, 204, 304);
  }

  /** Has no effect, because Podman itself rejects a command that can't start. */
  protected override async mustBegin(): Promise<void> {}

  /** Works around Podman's `tail`, which joins partial lines of both streams in reverse. */
  override logs(instanceId: string, spec: LogsSpec, signal: AbortSignal): Promise<Pick<Exec, 'output'>> {
    return super.logs(instanceId, { ...spec, tail: null }, signal);
  }

  override async create(spec: ContainerSpec): Promise<void> {
    const [files, processes] = ulimits();
    const memory = spec.memoryMb * BYTES_PER_MB;
    await this.dial('POST', `${API}/create`, CREATE_MS, {
      name: containerName(spec.instanceId),
      hostname: spec.instanceId,
      image: spec.imageId,
      ...(spec.entrypoint === null ? {} : { entrypoint: spec.entrypoint }),
      ...(spec.command === null ? {} : { command: spec.command }),
      env: environment(spec),
      labels: labels(spec),
      devices: devices(spec),
      cap_drop: ['ALL'],
      cap_add: capabilitiesOf(spec.fuse),
      no_new_privileges: true,
      ...(spec.fuse && hasAppArmor() ? { apparmor_profile: 'unconfined' } : {}),
      ...(spec.user === null ? {} : { user: engineUser(spec.user) }),
      resource_limits: {
        memory: { limit: memory, swap: memory },
        cpu: {
          quota: Math.min(spec.vcpus, this.info.cpus) * CPU_PERIOD_MICROSECONDS,
          period: CPU_PERIOD_MICROSECONDS,
          ...(spec.cpus === null ? {} : { cpus: spec.cpus.join() }),
        },
        pids: { limit: MAX_PIDS },
      },
      r_limits: [
        { type: 'nofile', soft: files, hard: files },
        { type: 'nproc', soft: processes, hard: processes },
      ],
      shm_size: sharedMemory(spec),
      restart_policy: 'no',
      log_configuration: { driver: 'k8s-file', size: MAX_LOG_BYTES },
      mounts: mountsOf(spec).map(({ source, target, isReadOnly }) => {
        return { type: 'bind', source, destination: target, options: ['rbind', isReadOnly ? 'ro' : 'rw', 'nodev'] };
      }),
      ...(spec.quotaGb === null ? {} : { storage_opts: { size: `${spec.quotaGb}G` } }),
    });
  }
}

function devices({ gpus, fuse }: ContainerSpec): { path: string }[] {
  return [...gpuDevices(gpus), ...(fuse ? [{ path: `${FUSE_DEVICE}:${FUSE_DEVICE}:rw` }] : [])];
}

function gpuDevices(gpus: ContainerSpec['gpus']): { path: string }[] {
  if (gpus === null) return [];
  if (gpus.kind === 'cdi') return gpus.names.map((path) => ({ path }));
  if (gpus.kind === 'nodes') return gpus.nodes.map(({ host, inside }) => ({ path: `${host}:${inside}` }));
  throw new Error('Podman supports GPUs only through CDI');
}

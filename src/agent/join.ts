import { AGENT_PROTOCOL, type Hardware } from '../agent-protocol/protocol.js';
import { isSecureUrl } from '../std/secure-url.js';
import { visible } from '../std/visible.js';
import { describeBlocks } from './blocks.js';
import { probeDisks } from './disks.js';
import type { Engine } from './engine/engine.js';
import { Gateway } from './gateway.js';
import { findHardware, type SimulatedGpus } from './hardware.js';
import { type JoinedMachine, MachineFile } from './machine-file.js';
import { type AgentSettings, UsageError } from './settings.js';

export interface JoinOptions {
  url: string;
  code: string;
  name?: string;
  /** Null for the real GPUs. */
  pretended: SimulatedGpus | null;
}

/** Reports the hardware to the gateway and stores the token that it returns. The code can't be used again. */
export async function join(
  settings: Pick<AgentSettings, 'dataDir' | 'cutOffSeconds'>,
  engine: Engine,
  { url, code, name, pretended }: JoinOptions,
): Promise<{ machine: JoinedMachine; hardware: Hardware }> {
  const { dataDir, cutOffSeconds } = settings;
  const file = new MachineFile(dataDir);
  const before = file.read();
  if (before !== null && pretended === null) {
    throw new UsageError(
      `this host has already joined as machine ${before.machineId}; remove ${file.path} to join again`,
    );
  }
  const disks = await probeDisks(dataDir, engine.info);
  const hardware = await findHardware(dataDir, engine.info, disks, pretended, name);
  const gateway = gatewayUrl(url);
  try {
    file.prepare();
  } catch (error) {
    throw new UsageError(`can't write to the data folder ${dataDir}: ${(error as Error).message}`);
  }
  const answer = await new Gateway(gateway, null).join({ protocol: AGENT_PROTOCOL, code, hardware, cutOffSeconds });
  const machine = { gateway, ...answer, diskLimit: disks.limit, pretended };
  file.write(machine);
  return { machine, hardware };
}

/**
 * Returns the gateway's URL. Plaintext HTTP is only allowed within this computer, because every request contains the
 * token.
 */
export function gatewayUrl(url: string): string {
  if (!URL.canParse(url)) throw new UsageError(`the gateway URL must look like https://gpu.example.com; got ${url}`);
  if (!isSecureUrl(new URL(url)))
    throw new UsageError('the gateway URL must begin with https://; http:// is allowed only for this computer');
  return url.replace(/\/+$/, '');
}

/**
 * Same limit as in the gateway (MIN_OFFERED_DISK_GB in its inventory/rules/offer.ts). It is also checked here so that
 * the operator is notified immediately.
 */
const OFFERED_FROM_GB = 50;

/** Describes the detected hardware for the operator to check. */
export function describe({
  cpu,
  vcpus,
  ramGb,
  diskGb,
  diskLimit,
  engine,
  driver,
  cudaMax,
  gpus,
  nvlink,
  pretended,
}: Hardware): string {
  const kept = {
    quota: 'limited by a storage driver quota',
    volume: '/workspace is a separate file system per instance; writes elsewhere are not limited',
    none: "NOT limited: an instance can fill the host's disk",
  };
  const cards = gpus.map(
    ({ index, name, vramMb }) => `  GPU ${index}   ${visible(name)}, ${vramMb} MB${pretended ? ' (simulated)' : ''}`,
  );
  return [
    `  CPU     ${visible(cpu)}, ${vcpus} processors, ${ramGb} GB of memory`,
    `  disk    ${diskGb} GB for instances; ${kept[diskLimit]}`,
    ...(diskGb < OFFERED_FROM_GB
      ? [`          the gateway does not offer machines with less than ${OFFERED_FROM_GB} GB`]
      : []),
    `  engine  ${engine.name} ${engine.version}`,
    `  driver  ${driver ?? 'none'}${cudaMax === null ? '' : `, CUDA up to ${cudaMax}`}${nvlink ? ', NVLink' : ''}`,
    ...cards,
    ...(gpus.length > 1
      ? [`  blocks  ${describeBlocks(gpus.map(({ name }) => name))}; you choose on the gateway which sizes to sell`]
      : []),
  ].join('\n');
}

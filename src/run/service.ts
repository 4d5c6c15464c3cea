import { type GpuClient, GpuRefusal } from '../client/index.js';
import type { Address } from './connection.js';
import { RunFailed } from './failure.js';

/** Requirements for a run's machine. */
export interface Wanted {
  /** Slugs of GPU models, most preferred first. By default, the cheapest is rented. */
  gpus?: readonly string[] | undefined;
  regions?: readonly string[] | undefined;
  /** Minimum number of GPUs. */
  numGpus?: number | undefined;
  /** Further fields of GraphQL's OfferFilterInput. */
  filter?: object | undefined;
  /** Maximum price of the whole machine, in USD per hour. */
  maxPricePerHour?: number | undefined;
  /** OCI image or template slug. */
  image?: string | undefined;
  diskGb?: number | undefined;
  /** The account's volumes to attach, each with its mount path. */
  volumes?: readonly { id: string; path: string }[] | undefined;
  /** Whether the instance is interruptible. An interruptible instance costs half as much but can be preempted. */
  isInterruptible?: boolean | undefined;
  /** When the instance is destroyed automatically, given as a time or as a duration such as 8h. */
  destroyAt?: string | undefined;
}

/** Fields of GraphQL's LaunchInput. */
export interface RunLaunch {
  name?: string;
  env?: Record<string, string>;
  secrets?: readonly { secret: string; variable?: string | null; file?: string | null }[];
  ports?: readonly { port: number; name?: string | null }[];
  tcpPorts?: readonly number[];
  registryLogin?: string;
  user?: string;
  entrypoint?: readonly string[];
  command?: readonly string[];
  restart?: 'NEVER';
  onExit?: 'KEEP' | 'STOP';
}

export interface Rented {
  id: string;
  gpu: string;
  numGpus: number;
  region: string;
  priceHr: string;
}

/** The instance fields that a run reads. */
export interface InstanceState {
  status: 'RUNNING' | 'STOPPED' | 'DESTROYED';
  stopReason: string | null;
  runtime: { phase: string; message: string | null; exitCode: number | null } | null;
  launch: { entrypoint: string[] | null } | null;
  ssh: Address | null;
}

const DEPLOY = `mutation ($input: DeployBestInput!) {
  deployBest(input: $input) { id gpu numGpus region priceHr } }`;
const READ = `query ($id: ID!) {
  instance(id: $id) {
    status stopReason runtime { phase message exitCode } launch { entrypoint } ssh { user host port hostKey } } }`;
const ADD_KEY = `mutation ($publicKey: String!, $id: ID!) {
  addSshKey(publicKey: $publicKey, instanceId: $id) { id } }`;
const REMOVE_KEY = 'mutation ($id: ID!) { removeSshKey(id: $id) { id } }';

/** Rents the best machine. Repeating a call with the same key doesn't rent a second one. */
export async function deployBest(
  client: GpuClient,
  wanted: Wanted,
  launch: RunLaunch,
  idempotencyKey: string,
): Promise<Rented> {
  const { gpus, regions, numGpus, filter, maxPricePerHour, image, diskGb, volumes, isInterruptible, destroyAt } =
    wanted;
  const input = {
    ...(gpus !== undefined && { gpus }),
    ...(regions !== undefined && { regions }),
    // Machines without a host agent can't run containers.
    filter: { ...filter, hasAgent: true, ...(numGpus !== undefined && { numMin: numGpus }) },
    ...(maxPricePerHour !== undefined && { maxPricePerHour }),
    ...(image !== undefined && { template: image }),
    ...(diskGb !== undefined && { diskGb }),
    ...(volumes !== undefined && { volumes }),
    ...(destroyAt !== undefined && { destroyAt }),
    ...(isInterruptible && { mode: 'INTERRUPTIBLE' }),
    launch,
    idempotencyKey,
  };
  const { deployBest: rented } = await client.graphql<{ deployBest: Rented }>(DEPLOY, { input });
  return rented;
}

export async function readInstance(client: GpuClient, id: string, signal?: AbortSignal): Promise<InstanceState> {
  const { instance } = await client.graphql<{ instance: InstanceState | null }>(READ, { id }, { signal });
  if (instance === null) throw new RunFailed(`no such instance: ${id}`);
  return instance;
}

/** Adds a key that gives access only to this instance and is removed with it. Resolves to the key's id. */
export async function addKey(client: GpuClient, publicKey: string, id: string): Promise<string> {
  const { addSshKey } = await client.graphql<{ addSshKey: { id: string } }>(ADD_KEY, { publicKey, id });
  return addSshKey.id;
}

export async function removeKey(client: GpuClient, id: string): Promise<void> {
  await unlessGone(client.graphql(REMOVE_KEY, { id }));
}

export async function destroy(client: GpuClient, id: string): Promise<void> {
  try {
    await unlessGone(client.instances.destroy(id));
  } catch (error) {
    const isDone = (await readInstance(client, id).catch(() => null))?.status === 'DESTROYED';
    if (!isDone) throw error;
  }
}

async function unlessGone(done: Promise<unknown>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!(error instanceof GpuRefusal) || error.code !== 'not_found') throw error;
  }
}

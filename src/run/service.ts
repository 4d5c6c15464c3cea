import { type GpuClient, GpuRefusal } from '../client/index.js';
import type { Address } from './connection.js';
import { RunFailed } from './failure.js';

/** What the machine of a run must have. */
export interface Wanted {
  /** Slugs of GPU models, the most wanted first; by default the cheapest. */
  gpus?: readonly string[] | undefined;
  regions?: readonly string[] | undefined;
  /** GPUs of the machine, at least. */
  numGpus?: number | undefined;
  /** Further members of GraphQL's OfferFilterInput. */
  filter?: object | undefined;
  /** USD per hour of the whole machine. */
  maxPricePerHour?: number | undefined;
  /** OCI image, or slug of a template. */
  image?: string | undefined;
  diskGb?: number | undefined;
  /** Volumes of the account, each at its path. */
  volumes?: readonly { id: string; path: string }[] | undefined;
  /** An interruptible machine costs half, and may be taken away. */
  isInterruptible?: boolean | undefined;
  /** When it is destroyed by itself: from now, such as 8h, or an instant. */
  destroyAt?: string | undefined;
}

/** Members of GraphQL's LaunchInput. */
export interface RunLaunch {
  name?: string;
  env?: Record<string, string>;
  secrets?: readonly { secret: string; variable?: string | null; file?: string | null }[];
  ports?: readonly { port: number; name?: string | null }[];
  tcpPorts?: readonly number[];
  registryLogin?: string;
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

/** An instance as a run looks at it. */
export interface Seen {
  status: 'RUNNING' | 'STOPPED' | 'DESTROYED';
  stopReason: string | null;
  runtime: { phase: string; message: string | null; exitCode: number | null } | null;
  launch: { entrypoint: string[] | null } | null;
  ssh: Address | null;
}

const DEPLOY = `mutation ($input: DeployBestInput!) {
  deployBest(input: $input) { id gpu numGpus region priceHr } }`;
const SEE = `query ($id: ID!) {
  instance(id: $id) {
    status stopReason runtime { phase message exitCode } launch { entrypoint } ssh { user host port hostKey } } }`;
const ADD_KEY = `mutation ($publicKey: String!, $id: ID!) {
  addSshKey(publicKey: $publicKey, instanceId: $id) { id } }`;
const REMOVE_KEY = 'mutation ($id: ID!) { removeSshKey(id: $id) { id } }';

/** Rents the best machine, once for a key, however often it is sent. */
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
    // Elsewhere nothing would run.
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

export async function see(client: GpuClient, id: string, signal?: AbortSignal): Promise<Seen> {
  const { instance } = await client.graphql<{ instance: Seen | null }>(SEE, { id }, { signal });
  if (instance === null) throw new RunFailed(`no such instance: ${id}`);
  return instance;
}

/** A key that opens this instance alone and goes with it; resolves to its id. */
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
    const isDone = (await see(client, id).catch(() => null))?.status === 'DESTROYED';
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

import { GpuRefusal } from './errors.js';
import { type Runtime, readRuntime, readRuntimes } from './runtime.js';
import { type CallOptions, type ClientOptions, createSend, type Send, type WriteOptions } from './send.js';
import {
  type InstanceLinks,
  type LaunchRequest,
  type SavedTemplate,
  savedInputOf,
  type Template,
  templatesOf,
} from './templates.js';
import type {
  Balance,
  CreateVolumeRequest,
  DeployRequest,
  Destroyed,
  Instance,
  InstanceAction,
  InstanceFilter,
  InstanceLaunch,
  InstanceList,
  InstanceMetrics,
  MetricRange,
  ModelMemory,
  ModelMemoryRequest,
  MoveRequest,
  OfferFilter,
  OfferList,
  PriceSheet,
  ProofDocument,
  RootsPlace,
  SignedStatement,
  Timeline,
  TimelinePlace,
  Volume,
  VolumeList,
  VolumeRelease,
  VolumeWithSnapshots,
  WebToken,
  WebTokenRequest,
} from './types.js';

export { GpuConnectionError, GpuError, GpuRefusal, type TransportCode } from './errors.js';
export type { RetryPolicy } from './retry.js';
export type { Runtime } from './runtime.js';
export type { CallOptions, ClientOptions, RawAnswer, Retry, WriteOptions } from './send.js';
export type {
  InstanceLinks,
  Launch,
  LaunchRequest,
  SavedTemplate,
  Template,
  TemplateVariable,
} from './templates.js';
export { requestOf } from './templates.js';
export type * from './types.js';

/**
 * Client with one method for each of the service's REST routes. Calls reject with a GpuError, or with the reason of an
 * aborted signal.
 */
export interface GpuClient {
  gpus: {
    /** Returns the public price sheet. */
    pricing(options?: CallOptions): Promise<PriceSheet>;
  };
  offers: {
    /** Returns the machines that can be deployed now, cheapest first. */
    list(filter?: OfferFilter, options?: CallOptions): Promise<OfferList>;
  };
  models: {
    /** Returns the GPU memory that a language model needs. No key is needed. */
    memory(request: ModelMemoryRequest, options?: CallOptions): Promise<ModelMemory>;
  };
  statements: {
    /** Returns the signed statement of a UTC month such as 2026-11, which `gpu verify` checks. */
    signed(month: string, options?: CallOptions): Promise<SignedStatement>;
  };
  proofs: {
    /** Returns up to 1,000 signed roots of the public log, oldest first. */
    roots(place?: RootsPlace, options?: CallOptions): Promise<ProofDocument>;
    /** Returns the proof that the tree of size `second` extends the one of size `first`. */
    consistency(first: number, second: number, options?: CallOptions): Promise<ProofDocument>;
    /** Returns the proof that the newest root covers the account's ledger. */
    inclusion(options?: CallOptions): Promise<ProofDocument>;
  };
  balance: {
    /** Returns the balance, accurate to the second. */
    get(options?: CallOptions): Promise<Balance>;
  };
  instances: {
    /** Returns the active instances, newest first. */
    list(options?: CallOptions & InstanceFilter): Promise<InstanceList>;
    /** Rents a machine at its current hourly rate, locked for the life of the instance. */
    deploy(request: DeployRequest, options?: WriteOptions): Promise<Instance>;
    /** Returns an instance, active or destroyed. */
    get(id: string, options?: CallOptions): Promise<Instance>;
    /** Returns the instance's launch settings and its deadlines. */
    launch(id: string, options?: CallOptions): Promise<InstanceLaunch>;
    /** Creates a token that allows programs to use a private web port for a day. They send it in a header. */
    webToken(id: string, request?: WebTokenRequest, options?: CallOptions): Promise<WebToken>;
    /** Destroys the instance and erases its disk. Rejects with action_failed if the instance is already destroyed. */
    destroy(id: string, options?: WriteOptions): Promise<Destroyed>;
    /**
     * Like `destroy`, but also succeeds if the instance is already destroyed. It is intended for tools that declare a
     * desired state.
     */
    ensureDestroyed(id: string, options?: WriteOptions): Promise<Destroyed>;
    action(id: string, action: InstanceAction, options?: WriteOptions): Promise<Instance>;
    /** Relaunches the instance on another host with its volumes. Resolves to the new instance. */
    move(id: string, request?: MoveRequest, options?: WriteOptions): Promise<Instance>;
    /** Returns the instance's measurements, by default for the last hour. */
    metrics(id: string, range?: MetricRange, options?: CallOptions): Promise<InstanceMetrics>;
    /**
     * Returns a page of the instance's events, newest first. To get older events, set `after` to the page's
     * `end_cursor`.
     */
    timeline(id: string, place?: TimelinePlace, options?: CallOptions): Promise<Timeline>;
    /** Returns the instance's container state through GraphQL, or null if its machine has no host agent. */
    runtime(id: string, options?: CallOptions): Promise<Runtime | null>;
    /** Returns the container states of active instances, by instance id. */
    runtimes(options?: CallOptions): Promise<ReadonlyMap<string, Runtime>>;
    /**
     * Returns links to the instance's named ports, with its generated tokens and passwords, through GraphQL. Rejects if
     * the instance is destroyed.
     */
    links(id: string, options?: CallOptions): Promise<InstanceLinks>;
  };
  volumes: {
    /** Returns all volumes that have not been deleted, oldest first. */
    list(options?: CallOptions): Promise<VolumeList>;
    /** Creates a volume, which is billed per second from its creation. */
    create(request: CreateVolumeRequest, options?: WriteOptions): Promise<Volume>;
    /** Returns a volume, existing or deleted, with its snapshots. */
    get(id: string, options?: CallOptions): Promise<VolumeWithSnapshots>;
    /** Grows a volume. Volumes can't shrink. */
    grow(id: string, sizeGb: number, options?: WriteOptions): Promise<Volume>;
    /** Detaches the volume from an instance that isn't running. Any changes not yet saved by the instance are lost. */
    release(id: string, options?: CallOptions): Promise<VolumeRelease>;
    /** Deletes the volume with all its snapshots. Rejects if the volume is attached. */
    delete(id: string, options?: WriteOptions): Promise<Volume>;
  };
  /** Methods that use GraphQL, because there are no REST routes for them. */
  templates: {
    /** Returns the templates that can be deployed by slug. No key is needed. */
    list(options?: CallOptions): Promise<Template[]>;
    /**
     * Returns the account's saved templates, sorted by name. `requestOf` converts one to the fields of a deploy
     * request.
     */
    saved(options?: CallOptions): Promise<SavedTemplate[]>;
    /** Saves a launch under a name, replacing any existing one with that name. */
    save(name: string, launch: LaunchRequest, options?: CallOptions & { description?: string }): Promise<SavedTemplate>;
    /** Deletes a saved template. Instances deployed from it are not affected. */
    delete(name: string, options?: CallOptions): Promise<void>;
  };
  /**
   * Sends a GraphQL operation and returns its data, for operations without a REST route. Rejects with the first
   * refusal. The operation is sent again if its response is lost, so pass an idempotency key to any mutation that
   * accepts one.
   */
  graphql<Data>(document: string, variables?: object, options?: CallOptions): Promise<Data>;
}

export function createClient(options: ClientOptions = {}): GpuClient {
  const send = createSend(options);
  const { links, ...templates } = templatesOf(send);
  return {
    gpus: { pricing: (options = {}) => send({ method: 'GET', path: '/gpus/pricing', options }) },
    offers: { list: (query, options = {}) => send({ method: 'GET', path: '/offers', query, options }) },
    models: { memory: (body, options = {}) => send({ method: 'POST', path: '/models/memory', body, options }) },
    statements: {
      signed: (month, options = {}) =>
        send({ method: 'GET', path: `/statements/${encodeURIComponent(month)}/signed`, options }),
    },
    proofs: {
      roots: (query, options = {}) => send({ method: 'GET', path: '/log/roots', query, options }),
      consistency: (first, second, options = {}) =>
        send({ method: 'GET', path: '/log/consistency', query: { first, second }, options }),
      inclusion: (options = {}) => send({ method: 'GET', path: '/log/inclusion', options }),
    },
    balance: { get: (options = {}) => send({ method: 'GET', path: '/balance', options }) },
    instances: {
      list: ({ labels, ...options } = {}) => send({ method: 'GET', path: '/instances', query: { labels }, options }),
      deploy: (body, options = {}) =>
        send({ method: 'POST', path: '/instances', body, idempotencyKey: keyOf(options), options }),
      get: (id, options = {}) => send({ method: 'GET', path: pathOf(id), options }),
      launch: (id, options = {}) => send({ method: 'GET', path: `${pathOf(id)}/launch`, options }),
      webToken: (id, body = {}, options = {}) =>
        send({ method: 'POST', path: `${pathOf(id)}/web-token`, body, options }),
      destroy: (id, options = {}) => destroyOf(send, id, options),
      ensureDestroyed: (id, options = {}) => ensureDestroyed(send, id, options),
      action: (id, action, options = {}) =>
        send({
          method: 'POST',
          path: `${pathOf(id)}/actions`,
          body: { action },
          idempotencyKey: keyOf(options),
          options,
        }),
      move: (id, body = {}, options = {}) =>
        send({ method: 'POST', path: `${pathOf(id)}/move`, body, idempotencyKey: keyOf(options), options }),
      metrics: (id, query, options = {}) =>
        send({ method: 'GET', path: `${pathOf(id)}/metrics/history`, query, options }),
      timeline: (id, query, options = {}) => send({ method: 'GET', path: `${pathOf(id)}/timeline`, query, options }),
      runtime: (id, options = {}) => readRuntime(send, id, options),
      runtimes: (options = {}) => readRuntimes(send, options),
      links: (id, options = {}) => links(id, options),
    },
    volumes: volumesOf(send),
    templates: {
      list: (options = {}) => templates.list(options),
      saved: (options = {}) => templates.saved(options),
      save: (name, launch, { description, ...options } = {}) =>
        templates.save(savedInputOf(name, description, launch), options),
      delete: (name, options = {}) => templates.delete(name, options),
    },
    graphql: async <Data>(query: string, variables: object = {}, options: CallOptions = {}) => {
      const call = { method: 'POST', path: '/graphql', isGraphql: true, refuses: true, options } as const;
      return (await send<{ data: Data }>({ ...call, body: { query, variables } })).data;
    },
  };
}

function destroyOf(send: Send, id: string, options: WriteOptions): Promise<Destroyed> {
  return send({ method: 'DELETE', path: pathOf(id), idempotencyKey: keyOf(options), options });
}

async function ensureDestroyed(send: Send, id: string, options: WriteOptions): Promise<Destroyed> {
  try {
    return await destroyOf(send, id, options);
  } catch (error) {
    if (!(error instanceof GpuRefusal) || error.code !== 'action_failed') throw error;
    const instance = await send<Instance>({ method: 'GET', path: pathOf(id), options });
    // Any other refusal has a different cause, such as the cost of leaving a reserved term early.
    if (instance.status !== 'destroyed') throw error;
    return { object: 'instance', id: instance.id, status: 'destroyed' };
  }
}

function volumesOf(send: Send): GpuClient['volumes'] {
  const path = (id: string) => `/volumes/${encodeURIComponent(id)}`;
  const write = (method: 'POST' | 'DELETE', path: string, options: WriteOptions, body?: object) =>
    send<Volume>({ method, path, ...(body && { body }), idempotencyKey: keyOf(options), options });
  return {
    list: (options = {}) => send({ method: 'GET', path: '/volumes', options }),
    create: (body, options = {}) => write('POST', '/volumes', options, body),
    get: (id, options = {}) => send({ method: 'GET', path: path(id), options }),
    grow: (id, sizeGb, options = {}) => write('POST', `${path(id)}/grow`, options, { size_gb: sizeGb }),
    release: (id, options = {}) => send({ method: 'POST', path: `${path(id)}/release`, options }),
    delete: (id, options = {}) => write('DELETE', path(id), options),
  };
}

function pathOf(id: string): string {
  return `/instances/${encodeURIComponent(id)}`;
}

/** Returns the given idempotency key or a new one, so that an attempt can be repeated if its response is lost. */
function keyOf({ idempotencyKey }: WriteOptions): string {
  return idempotencyKey ?? newIdempotencyKey();
}

/** Returns a random key. Browsers provide randomUUID only on secure pages. */
function newIdempotencyKey(): string {
  const { crypto } = globalThis;
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

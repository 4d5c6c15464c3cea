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
  InstanceLaunch,
  InstanceList,
  InstanceMetrics,
  MetricRange,
  MoveRequest,
  OfferFilter,
  OfferList,
  PriceSheet,
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

/** The service, one method for each of its routes. Calls reject with a GpuError, or with the reason of an aborted signal. */
export interface GpuClient {
  gpus: {
    /** The public price sheet. */
    pricing(options?: CallOptions): Promise<PriceSheet>;
  };
  offers: {
    /** Machines that can be deployed now, cheapest first. */
    list(filter?: OfferFilter, options?: CallOptions): Promise<OfferList>;
  };
  balance: {
    /** Accurate to the second. */
    get(options?: CallOptions): Promise<Balance>;
  };
  instances: {
    /** The active instances, newest first. */
    list(options?: CallOptions): Promise<InstanceList>;
    /** Rents a machine at its present hourly rate, locked for the life of the instance. */
    deploy(request: DeployRequest, options?: WriteOptions): Promise<Instance>;
    /** One instance, destroyed or not. */
    get(id: string, options?: CallOptions): Promise<Instance>;
    /** What it was launched with, and what ends it. */
    launch(id: string, options?: CallOptions): Promise<InstanceLaunch>;
    /** A token that lets programs in to a private web port for a day, in its header. */
    webToken(id: string, request?: WebTokenRequest, options?: CallOptions): Promise<WebToken>;
    /** Destroys the instance and erases its disk. Refused with action_failed once it is destroyed. */
    destroy(id: string, options?: WriteOptions): Promise<Destroyed>;
    /** As `destroy`, and succeeds too if it is destroyed already: for tools that say what should be. */
    ensureDestroyed(id: string, options?: WriteOptions): Promise<Destroyed>;
    action(id: string, action: InstanceAction, options?: WriteOptions): Promise<Instance>;
    /** Goes on elsewhere with its volumes; resolves to the new instance. */
    move(id: string, request?: MoveRequest, options?: WriteOptions): Promise<Instance>;
    /** What it did, by default within the last hour. */
    metrics(id: string, range?: MetricRange, options?: CallOptions): Promise<InstanceMetrics>;
    /** What happened to it, newest first; older entries: `after` with the `end_cursor` of the page. */
    timeline(id: string, place?: TimelinePlace, options?: CallOptions): Promise<Timeline>;
    /** What runs for it, by GraphQL; null when its machine has no host agent. */
    runtime(id: string, options?: CallOptions): Promise<Runtime | null>;
    /** Of the active ones, by id. */
    runtimes(options?: CallOptions): Promise<ReadonlyMap<string, Runtime>>;
    /** How what runs in it is opened, with the tokens made for it, by GraphQL: passwords. Refused once it is destroyed. */
    links(id: string, options?: CallOptions): Promise<InstanceLinks>;
  };
  volumes: {
    /** Those that are not deleted, oldest first. */
    list(options?: CallOptions): Promise<VolumeList>;
    /** Billed by the second from then on. */
    create(request: CreateVolumeRequest, options?: WriteOptions): Promise<Volume>;
    /** One volume, deleted or not, with its snapshots. */
    get(id: string, options?: CallOptions): Promise<VolumeWithSnapshots>;
    /** It never shrinks. */
    grow(id: string, sizeGb: number, options?: WriteOptions): Promise<Volume>;
    /** Takes it from an instance that does not run, whatever that has not saved. */
    release(id: string, options?: CallOptions): Promise<VolumeRelease>;
    /** With all its snapshots. Refused while an instance has it. */
    delete(id: string, options?: WriteOptions): Promise<Volume>;
  };
  /** By GraphQL; REST has no routes for them. */
  templates: {
    /** What can be deployed by its slug. Needs no key. */
    list(options?: CallOptions): Promise<Template[]>;
    /** What the account saved, by name; `requestOf` makes members of a deploy of one. */
    saved(options?: CallOptions): Promise<SavedTemplate[]>;
    /** Keeps a launch under a name, instead of the one that was there. */
    save(name: string, launch: LaunchRequest, options?: CallOptions & { description?: string }): Promise<SavedTemplate>;
    /** What was deployed from it stays. */
    delete(name: string, options?: CallOptions): Promise<void>;
  };
  /**
   * The data of a GraphQL operation, for what REST has no route for; rejects with the first refusal. It is sent again when its answer
   * is lost: give a mutation an idempotency key where it takes one.
   */
  graphql<Data>(document: string, variables?: object, options?: CallOptions): Promise<Data>;
}

export function createClient(options: ClientOptions = {}): GpuClient {
  const send = createSend(options);
  const { links, ...templates } = templatesOf(send);
  return {
    gpus: { pricing: (options = {}) => send({ method: 'GET', path: '/gpus/pricing', options }) },
    offers: { list: (query, options = {}) => send({ method: 'GET', path: '/offers', query, options }) },
    balance: { get: (options = {}) => send({ method: 'GET', path: '/balance', options }) },
    instances: {
      list: (options = {}) => send({ method: 'GET', path: '/instances', options }),
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
    // Else it is refused for another reason, such as what leaving a reserved term costs.
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

/** A new key for every call, so that an attempt whose answer is lost can be repeated. */
function keyOf({ idempotencyKey }: WriteOptions): string {
  return idempotencyKey ?? newIdempotencyKey();
}

/** Browsers offer randomUUID on secure pages only. */
function newIdempotencyKey(): string {
  const { crypto } = globalThis;
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

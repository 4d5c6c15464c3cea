import type { DeployRequest, GpuClient } from '../../src/client/index.js';

export const ID = 'i-00000000';

/** The names of each OpenAPI operation in the three clients and in GraphQL. */
export const OPERATIONS: Record<
  string,
  { typescript: (gpu: GpuClient) => Promise<unknown>; cli: string[]; python: string; graphql: string }
> = {
  getPricing: {
    typescript: (gpu) => gpu.gpus.pricing(),
    cli: ['pricing'],
    python: 'gpus.pricing',
    graphql: 'Query.pricing',
  },
  listOffers: {
    typescript: (gpu) =>
      gpu.offers.list({ gpu: 'a', region: 'b', num_min: 1, price_max: 2, cuda_min: '12.4', limit: 3 }),
    cli: ['offers'],
    python: 'offers.list',
    graphql: 'Query.offers',
  },
  getModelMemory: {
    typescript: (gpu) =>
      gpu.models.memory({
        model: 'a/b',
        config: '{}',
        context_length: 1,
        concurrency: 1,
        parameters_in_billions: 1,
        weight_bits: 8,
      }),
    cli: ['memory'],
    python: 'models.memory',
    graphql: 'Query.modelMemory',
  },
  getLogRoots: {
    typescript: (gpu) => gpu.proofs.roots({ after: 1 }),
    cli: ['proof roots'],
    python: 'proofs.roots',
    graphql: 'Query.logRoots',
  },
  getLogConsistency: {
    typescript: (gpu) => gpu.proofs.consistency(1, 2),
    cli: ['proof consistency'],
    python: 'proofs.consistency',
    graphql: 'Query.logConsistency',
  },
  getLogInclusion: {
    typescript: (gpu) => gpu.proofs.inclusion(),
    cli: ['proof inclusion'],
    python: 'proofs.inclusion',
    graphql: 'Query.logInclusion',
  },
  getBalance: {
    typescript: (gpu) => gpu.balance.get(),
    cli: ['balance'],
    python: 'balance.get',
    graphql: 'Query.balance',
  },
  getSignedStatement: {
    typescript: (gpu) => gpu.statements.signed(ID),
    cli: ['statement'],
    python: 'statements.signed',
    graphql: 'Query.signedStatement',
  },
  listInstances: {
    typescript: (gpu) => gpu.instances.list({ labels: 'a' }),
    cli: ['instances'],
    python: 'instances.list',
    graphql: 'Query.instances',
  },
  deployInstance: {
    typescript: (gpu) => gpu.instances.deploy({ machine_id: 'm', template: 't', disk_gb: 1, type: 'od', ...launch() }),
    cli: ['deploy'],
    python: 'instances.deploy',
    graphql: 'Mutation.deploy',
  },
  getInstance: {
    typescript: (gpu) => gpu.instances.get(ID),
    cli: ['show'],
    python: 'instances.get',
    graphql: 'Query.instance',
  },
  getInstanceLaunch: {
    typescript: (gpu) => gpu.instances.launch(ID),
    cli: ['launch'],
    python: 'instances.launch',
    graphql: 'Query.instance',
  },
  getInstanceMetrics: {
    typescript: (gpu) =>
      gpu.instances.metrics(ID, { from: '2026-11-23T18:00:00Z', to: '2026-11-23T19:00:00Z', points: 9 }),
    cli: ['metrics'],
    python: 'instances.metrics',
    graphql: 'Instance.metrics',
  },
  createWebToken: {
    typescript: (gpu) => gpu.instances.webToken(ID, { port: 8888 }),
    cli: ['open'],
    python: 'instances.web_token',
    graphql: 'Mutation.webToken',
  },
  getInstanceTimeline: {
    typescript: (gpu) => gpu.instances.timeline(ID, { first: 1, after: 'a', last: 2, before: 'b' }),
    cli: ['timeline'],
    python: 'instances.timeline',
    graphql: 'Instance.timeline',
  },
  destroyInstance: {
    typescript: (gpu) => gpu.instances.destroy(ID),
    cli: ['destroy'],
    python: 'instances.destroy',
    graphql: 'Mutation.action',
  },
  moveInstance: {
    typescript: (gpu) => gpu.instances.move(ID, { max_price_per_hour: 1 }),
    cli: ['move'],
    python: 'instances.move',
    graphql: 'Mutation.moveInstance',
  },
  listVolumes: {
    typescript: (gpu) => gpu.volumes.list(),
    cli: ['volume list'],
    python: 'volumes.list',
    graphql: 'Query.volumes',
  },
  createVolume: {
    typescript: (gpu) => gpu.volumes.create({ name: 'n', size_gb: 1 }),
    cli: ['volume create'],
    python: 'volumes.create',
    graphql: 'Mutation.createVolume',
  },
  getVolume: {
    typescript: (gpu) => gpu.volumes.get(ID),
    cli: ['volume show', 'volume snapshots'],
    python: 'volumes.get',
    graphql: 'Query.volume',
  },
  growVolume: {
    typescript: (gpu) => gpu.volumes.grow(ID, 2),
    cli: ['volume grow'],
    python: 'volumes.grow',
    graphql: 'Mutation.growVolume',
  },
  deleteVolume: {
    typescript: (gpu) => gpu.volumes.delete(ID),
    cli: ['volume delete'],
    python: 'volumes.delete',
    graphql: 'Mutation.deleteVolume',
  },
  releaseVolume: {
    typescript: (gpu) => gpu.volumes.release(ID),
    cli: ['volume release'],
    python: 'volumes.release',
    graphql: 'Mutation.releaseVolume',
  },
  actOnInstance: {
    typescript: (gpu) => gpu.instances.action(ID, 'stop'),
    cli: ['start', 'stop', 'destroy'],
    python: 'instances.action',
    graphql: 'Mutation.action',
  },
};

const launch = (): Partial<DeployRequest> => ({
  name: 'n',
  env: { A: 'b' },
  secrets: [],
  entrypoint: ['a'],
  command: ['b'],
  ports: [],
  tcp_ports: [],
  registry_login: 'r',
  user: 'root',
  restart: 'never',
  on_exit: 'stop',
  stop_at: '8h',
  destroy_at: '9h',
  spend_limit: 5,
  stop_when_idle: 30,
  labels: { team: 'vision' },
  volumes: [{ id: 'v-00000000', path: '/data' }],
});

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON of many shapes
export type Json = any;

export interface RestOperation {
  id: string;
  method: string;
  path: string;
  names: string[];
  query: string[];
  body: string[];
  key: boolean;
  answer: Json;
}

/** Returns the operations of a document without references, except those meant for programs such as Prometheus. */
export function readOperations(document: Json): RestOperation[] {
  const operations: RestOperation[] = [];
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(methods)) {
      const parameters: Json[] = operation.parameters ?? [];
      const body = Object.keys(operation.requestBody?.content['application/json'].schema.properties ?? {});
      const success = operation.responses['200'] ?? operation.responses['201'];
      if (success.content['application/json'] === undefined) continue;
      operations.push({
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        names: [...parameters.map(({ name }) => name), ...body],
        query: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
        body,
        key: parameters.some(({ name }) => name === 'Idempotency-Key'),
        answer: success.content['application/json'].schema,
      });
    }
  }
  return operations;
}

import { RENTAL_TERMS } from '../domain/instances/fields.js';
import { GPU_TIER_SLUGS } from '../domain/kernel/gpu-tier.js';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.js';

/** A REST route, defined by a GraphQL document, the sources of its variables, and its response envelope. */
export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path under `/v1`. `{name}` is a path parameter. */
  path: string;
  operationId: string;
  /** The operation's group in clients. */
  tag: Tag;
  summary: string;
  /** Markdown with details for callers, shown in addition to the summary. */
  description: string;
  /** Document with one root field, aliased as `result`. Other aliases provide the names used in the contract. */
  document: string;
  /** Member of the result that takes the arguments and becomes the response. Defaults to the result itself. */
  member?: string;
  inputs: readonly Input[];
  status: 200 | 201;
  envelope: Envelope;
  /** OpenAPI names of the request and response bodies. Nested schemas keep their GraphQL names. */
  requestSchema?: string;
  responseSchema: string;
}

type Tag = keyof typeof TAGS;

export const TAGS = {
  Balance: 'Credit and spend of the account.',
  GPUs: 'The price sheet. Public.',
  Instances: 'Rentals of the account: deploy, list, start, stop, destroy.',
  Models: 'GPU memory that language models need. Public.',
  Offers: 'Machines that can be deployed now. Public.',
  Proofs: 'Signed roots of the public log, and proofs that it covers an account. Roots are public.',
  Volumes: 'Disks of the account that outlive machines: create, list, grow, delete.',
} as const;

/** A document variable. Its bounds, default and description come from the argument that it is passed to. */
export interface Input {
  in: 'query' | 'path' | 'body' | 'header';
  name: string;
  variable: string;
  /** The enum's values in REST spelling. */
  values?: Readonly<Record<string, string>>;
}

/**
 * A response's envelope. `item` contains the result's fields and `object`. `list` contains the result as `data`, with
 * `itemObject` in each entry. `page` contains a connection's entries as `data`, each with its cursor, and `page_info`.
 * `document` is the result itself, which may be signed. `text` is a string built from the result. The `object` of these
 * two is the name used in a not-found message.
 */
export type JsonEnvelope =
  | { kind: 'item'; object: string }
  | { kind: 'page'; object: string }
  | { kind: 'list'; object: string; count: boolean; itemObject?: string }
  | { kind: 'document'; object: string };
type Envelope =
  | JsonEnvelope
  | { kind: 'text'; object: string; type: string; description: string; make(result: unknown): string };

/** REST spelling of GraphQL enum values in responses. Values of other enums are in lower case. */
export const SPELLING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  GpuTier: GPU_TIER_SLUGS,
  InstanceStatus: { RUNNING: 'running', STOPPED: 'stopped', DESTROYED: 'destroyed' },
  PricingMode: { ON_DEMAND: 'od', INTERRUPTIBLE: 'spot', RESERVED: 'res' },
};

const INSTANCE = `id status gpu num_gpus: numGpus region template disk_gb: diskGb type: mode price_hr: priceHr hostname
  created_at: createdAt stopped_at: stoppedAt`;
const VOLUME = `id name size_gb: sizeGb price_hr: priceHr created_at: createdAt deleted_at: deletedAt in_use_by: inUseBy
  stored_bytes: storedBytes last_snapshot_at: lastSnapshotAt`;
const SNAPSHOTS = 'snapshots { id at size_bytes: sizeBytes instance_id: instanceId }';
const GPU_METRICS = `place busy_percent: busyPercent busy_max_percent: busyMaxPercent memory_used_mb: memoryUsedMb
  memory_total_mb: memoryTotalMb power_watts: powerWatts celsius sm_mhz: smMhz faults processes`;
const METRIC_POINT = `at cpu_percent: cpuPercent memory_used_bytes: memoryUsedBytes disk_used_bytes: diskUsedBytes
  network_in_bytes_per_second: networkInBytesPerSecond network_out_bytes_per_second: networkOutBytesPerSecond processes
  gpus { ${GPU_METRICS} }`;
const TIMELINE_ENTRY = `at kind rate_per_hour: ratePerHour amount seconds stop_reason: stopReason credit_reason: creditReason
  host_fault: hostFault volume_id: volumeId volume_name: volumeName size_bytes: sizeBytes
  asked { at operation targets key_id: keyId by_console: byConsole address code times }`;
const VOLUME_ID: Input = { in: 'path', name: 'id', variable: 'id' };
const SIZE_GB: Input = { in: 'body', name: 'size_gb', variable: 'sizeGb' };
const INSTANCE_ID: Input = { in: 'path', name: 'id', variable: 'id' };
const MONTH: Input = { in: 'path', name: 'month', variable: 'month' };
const IDEMPOTENCY_KEY: Input = { in: 'header', name: 'Idempotency-Key', variable: 'idempotencyKey' };

/** Launch inputs, which correspond to the members of GraphQL's LaunchInput. */
const LAUNCH: readonly Input[] = [
  { in: 'body', name: 'name', variable: 'name' },
  { in: 'body', name: 'env', variable: 'env' },
  { in: 'body', name: 'secrets', variable: 'secrets' },
  { in: 'body', name: 'entrypoint', variable: 'entrypoint' },
  { in: 'body', name: 'command', variable: 'command' },
  { in: 'body', name: 'ports', variable: 'ports' },
  { in: 'body', name: 'tcp_ports', variable: 'tcpPorts' },
  { in: 'body', name: 'registry_login', variable: 'registryLogin' },
  { in: 'body', name: 'user', variable: 'user' },
  {
    in: 'body',
    name: 'restart',
    variable: 'restart',
    values: { always: 'ALWAYS', on_failure: 'ON_FAILURE', never: 'NEVER' },
  },
  {
    in: 'body',
    name: 'on_exit',
    variable: 'onExit',
    values: { keep: 'KEEP', stop: 'STOP', destroy: 'DESTROY' },
  },
];

/** GraphQL types of a rental's terms by kind. */
const TYPES = { when: 'String', usd: 'Float', minutes: 'Int', labels: 'Labels', volumes: '[VolumeAtPathInput!]' };
/** Optional terms of a rental. They have the same names in GraphQL, in camelCase. */
const TERMS = Object.entries(RENTAL_TERMS).map(([variable, { kind }]) => ({
  input: { in: 'body', name: variable.replace(/[A-Z]/g, '_$&').toLowerCase(), variable } as const,
  kind,
}));
const TERM_INPUTS = TERMS.map(({ input }) => input);
const TERM_VARIABLES = TERMS.map(({ input, kind }) => `$${input.variable}: ${TYPES[kind]}`).join(', ');
const TERM_ARGUMENTS = TERM_INPUTS.map(({ variable }) => `${variable}: $${variable}`).join(', ');
const TERM_MEMBERS = TERMS.map(
  ({ input, kind }) => `${input.name}: ${input.variable}${kind === 'volumes' ? ' { id path }' : ''}`,
).join(' ');

/** All `/v1` routes: those in section 4 of the contract, and those for volumes. */
export const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/gpus/pricing',
    operationId: 'getPricing',
    tag: 'GPUs',
    summary: 'The public price sheet.',
    description: 'One entry per GPU model, with its price in each mode and the number of free GPUs. Needs no key.',
    document: `query getPricing { result: pricing { currency billing price_rule: priceRule market_snapshot: marketSnapshot count
      data { slug name vram_gb: vramGb tier
        price_per_gpu_hour: pricePerGpuHour { on_demand: onDemand interruptible reserved }
        market_median: marketMedian available_gpus: availableGpus url } } }`,
    inputs: [],
    status: 200,
    envelope: { kind: 'item', object: 'gpu_pricing' },
    responseSchema: 'PriceSheet',
  },
  {
    method: 'GET',
    path: '/offers',
    operationId: 'listOffers',
    tag: 'Offers',
    summary: 'Machines that can be deployed now, cheapest first.',
    description:
      'Ordered by on-demand price of the whole machine, then higher reliability, then machine id. An unknown model or region returns an empty list. Needs no key.',
    document: `query listOffers($gpu: String, $region: String, $numMin: Int, $priceMax: Float, $cudaMin: String, $limit: Int) {
      result: offers(gpu: $gpu, region: $region, numMin: $numMin, priceMax: $priceMax, cudaMin: $cudaMin, limit: $limit) {
        machine_id: machineId gpu num_gpus: numGpus region cpu vcpus ram_gb: ramGb disk_gb: diskGb
        net_mbps: netMbps { down up } ports pcie nvlink cuda_max: cudaMax reliability
        price_per_hour: pricePerHour { on_demand: onDemand interruptible } } }`,
    inputs: [
      { in: 'query', name: 'gpu', variable: 'gpu' },
      { in: 'query', name: 'region', variable: 'region' },
      { in: 'query', name: 'num_min', variable: 'numMin' },
      { in: 'query', name: 'price_max', variable: 'priceMax' },
      { in: 'query', name: 'cuda_min', variable: 'cudaMin' },
      { in: 'query', name: 'limit', variable: 'limit' },
    ],
    status: 200,
    envelope: { kind: 'list', object: 'offers', count: true },
    responseSchema: 'OfferList',
  },
  {
    method: 'POST',
    path: '/models/memory',
    operationId: 'getModelMemory',
    tag: 'Models',
    summary: 'GPU memory that a language model needs in vLLM.',
    description:
      "Computed from the model's config.json, which is read from the hub that the operator allows or sent as `config`. Each entry of `splits` is a number of GPUs with the memory that each of them needs; look for them with `num_min` in the offers. Needs no key.",
    document: `query getModelMemory($model: String, $config: String, $contextLength: Int, $concurrency: Int,
      $parametersInBillions: Float, $weightBits: Int) {
      result: modelMemory(model: $model, config: $config, contextLength: $contextLength, concurrency: $concurrency,
        parametersInBillions: $parametersInBillions, weightBits: $weightBits) {
        model architecture parameters weight_bits: weightBits weights_from: weightsFrom weight_bytes: weightBytes
        kv_bytes_per_token: kvBytesPerToken kv_bytes: kvBytes context_length: contextLength
        max_context_length: maxContextLength concurrency disk_gb: diskGb
        splits { gpus vram_gb_min: vramGbMin weight_bytes_per_gpu: weightBytesPerGpu kv_bytes_per_gpu: kvBytesPerGpu
          overhead_bytes_per_gpu: overheadBytesPerGpu } } }`,
    inputs: [
      { in: 'body', name: 'model', variable: 'model' },
      { in: 'body', name: 'config', variable: 'config' },
      { in: 'body', name: 'context_length', variable: 'contextLength' },
      { in: 'body', name: 'concurrency', variable: 'concurrency' },
      { in: 'body', name: 'parameters_in_billions', variable: 'parametersInBillions' },
      { in: 'body', name: 'weight_bits', variable: 'weightBits' },
    ],
    status: 200,
    envelope: { kind: 'item', object: 'model_memory' },
    requestSchema: 'ModelMemoryRequest',
    responseSchema: 'ModelMemory',
  },
  {
    method: 'GET',
    path: '/balance',
    operationId: 'getBalance',
    tag: 'Balance',
    summary: 'Credit and spend of this month, exact to the second.',
    description: 'Settled at each read: every second until now is charged. The month is the UTC month.',
    document: 'query getBalance { result: balance { currency balance month_spend: monthSpend } }',
    inputs: [],
    status: 200,
    envelope: { kind: 'item', object: 'balance' },
    responseSchema: 'Balance',
  },
  {
    method: 'GET',
    path: '/statements/{month}/signed',
    operationId: 'getSignedStatement',
    tag: 'Balance',
    summary: 'Signed statement of a month, with proofs of each line and of the sum.',
    description:
      'A document of type `gpu-rental/statement/v1`, which `gpu verify` checks without a connection. The statement of the current month ends when it is issued. At most 5,000 lines.',
    document: 'query getSignedStatement($month: String!) { result: signedStatement(month: $month) }',
    inputs: [MONTH],
    status: 200,
    envelope: { kind: 'document', object: 'statement' },
    responseSchema: 'SignedStatement',
  },
  {
    method: 'GET',
    path: '/instances',
    operationId: 'listInstances',
    tag: 'Instances',
    summary: 'The live instances of the account, newest first.',
    description: 'Running and stopped instances. You can still get a destroyed instance by its id.',
    document: `query listInstances($labels: String) { result: instances(labels: $labels) { ${INSTANCE} } }`,
    inputs: [{ in: 'query', name: 'labels', variable: 'labels' }],
    status: 200,
    envelope: { kind: 'list', object: 'instances', count: false, itemObject: 'instance' },
    responseSchema: 'InstanceList',
  },
  {
    method: 'POST',
    path: '/instances',
    operationId: 'deployInstance',
    tag: 'Instances',
    summary: 'Rents a machine at an hourly rate that is fixed for the life of the instance.',
    description:
      'The machine must be free. An on-demand or reserved instance can also take a machine that only an interruptible instance uses. The balance must cover one hour of everything the account would then be paying for.',
    document: `mutation deployInstance($machineId: ID!, $template: String, $diskGb: Int, $mode: PricingMode, $idempotencyKey: String,
      $name: String, $env: Variables, $secrets: [LaunchSecretInput!], $entrypoint: [String!], $command: [String!],
      $ports: [LaunchPortInput!], $tcpPorts: [Int!], $registryLogin: String, $user: String, $restart: RestartPolicy, $onExit: ExitAction,
      ${TERM_VARIABLES}) {
      result: deploy(input: { machineId: $machineId, template: $template, diskGb: $diskGb, mode: $mode, idempotencyKey: $idempotencyKey,
        ${TERM_ARGUMENTS},
        launch: { name: $name, env: $env, secrets: $secrets, entrypoint: $entrypoint, command: $command, ports: $ports, tcpPorts: $tcpPorts,
          registryLogin: $registryLogin, user: $user, restart: $restart, onExit: $onExit } }) {
        ${INSTANCE} } }`,
    inputs: [
      { in: 'body', name: 'machine_id', variable: 'machineId' },
      { in: 'body', name: 'template', variable: 'template' },
      { in: 'body', name: 'disk_gb', variable: 'diskGb' },
      {
        in: 'body',
        name: 'type',
        variable: 'mode',
        // Responses spell INTERRUPTIBLE as `spot`, so requests may use that too.
        values: { od: 'ON_DEMAND', interruptible: 'INTERRUPTIBLE', res: 'RESERVED', spot: 'INTERRUPTIBLE' },
      },
      ...LAUNCH,
      ...TERM_INPUTS,
      IDEMPOTENCY_KEY,
    ],
    status: 201,
    envelope: { kind: 'item', object: 'instance' },
    requestSchema: 'DeployRequest',
    responseSchema: 'Instance',
  },
  {
    method: 'GET',
    path: '/instances/{id}',
    operationId: 'getInstance',
    tag: 'Instances',
    summary: 'One instance of the account, including a destroyed one.',
    description: 'State, locked price, hostname and times. An instance of another account is reported as not found.',
    document: `query getInstance($id: ID!) { result: instance(id: $id) { ${INSTANCE} } }`,
    inputs: [INSTANCE_ID],
    status: 200,
    envelope: { kind: 'item', object: 'instance' },
    responseSchema: 'Instance',
  },
  {
    method: 'DELETE',
    path: '/instances/{id}',
    operationId: 'destroyInstance',
    tag: 'Instances',
    summary: 'Destroys an instance; same as the action destroy.',
    description:
      'Allowed while the instance is running or stopped. Ends all billing and erases the disk. Leaving a reserved term early repays its discount.',
    document: `mutation destroyInstance($id: ID!, $idempotencyKey: String) {
      result: action(id: $id, action: DESTROY, idempotencyKey: $idempotencyKey) { id status } }`,
    inputs: [INSTANCE_ID, IDEMPOTENCY_KEY],
    status: 200,
    envelope: { kind: 'item', object: 'instance' },
    responseSchema: 'DestroyedInstance',
  },
  {
    method: 'POST',
    path: '/instances/{id}/actions',
    operationId: 'actOnInstance',
    tag: 'Instances',
    summary: 'Starts, stops or destroys an instance.',
    description:
      '`stop` ends GPU billing; the disk is billed until the instance is destroyed. `start` takes the same machine again if it is free and the balance covers it. `destroy` erases the disk.',
    document: `mutation actOnInstance($id: ID!, $action: InstanceActionKind!, $idempotencyKey: String) {
      result: action(id: $id, action: $action, idempotencyKey: $idempotencyKey) { ${INSTANCE} } }`,
    inputs: [
      INSTANCE_ID,
      { in: 'body', name: 'action', variable: 'action', values: { start: 'START', stop: 'STOP', destroy: 'DESTROY' } },
      IDEMPOTENCY_KEY,
    ],
    status: 200,
    envelope: { kind: 'item', object: 'instance' },
    requestSchema: 'ActionRequest',
    responseSchema: 'Instance',
  },
  {
    method: 'GET',
    path: '/instances/{id}/launch',
    operationId: 'getInstanceLaunch',
    tag: 'Instances',
    summary: 'Launch settings of an instance, its deadlines and limits.',
    description:
      'For tools that compare it with a desired configuration. `launch` has the members of a deploy; it is null if only the template was given. Secrets are shown by name.',
    document: `query getInstanceLaunch($id: ID!) { result: instance(id: $id) { id name template disk_gb: diskGb type: mode
      ${TERM_MEMBERS}
      launch { name env secrets { secret variable file } entrypoint command ports { port name } tcp_ports: tcpPorts
        registry_login: registryLogin user restart on_exit: onExit } } }`,
    inputs: [INSTANCE_ID],
    status: 200,
    envelope: { kind: 'item', object: 'instance_launch' },
    responseSchema: 'InstanceLaunch',
  },
  {
    method: 'POST',
    path: '/instances/{id}/web-token',
    operationId: 'createWebToken',
    tag: 'Instances',
    summary: 'Creates a token that grants programs access to a private web port for a day.',
    description:
      'Send it to the URL in the header `X-Web-Token`; the container does not receive it. It becomes invalid with the API key that requested it. Without a port, it is for the first port.',
    document: `mutation createWebToken($id: ID!, $port: Int) {
      result: webToken(id: $id, port: $port) { token header url expires_at: expiresAt } }`,
    inputs: [INSTANCE_ID, { in: 'body', name: 'port', variable: 'port' }],
    status: 201,
    envelope: { kind: 'item', object: 'web_token' },
    requestSchema: 'WebTokenRequest',
    responseSchema: 'WebToken',
  },
  {
    method: 'POST',
    path: '/instances/{id}/move',
    operationId: 'moveInstance',
    tag: 'Instances',
    summary: 'Relaunches the workload of an instance with volumes on the best machine of another host.',
    description:
      'The instance must be stopped, destroyed within the last 7 days, or on a host whose leases have ended because it is unreachable, and its volumes must be saved. Returns the new instance, at the current price. The old instance keeps its own disk until it is destroyed.',
    document: `mutation moveInstance($id: ID!, $maxPricePerHour: Float, $idempotencyKey: String) {
      result: moveInstance(id: $id, maxPricePerHour: $maxPricePerHour, idempotencyKey: $idempotencyKey) { ${INSTANCE} } }`,
    inputs: [INSTANCE_ID, { in: 'body', name: 'max_price_per_hour', variable: 'maxPricePerHour' }, IDEMPOTENCY_KEY],
    status: 201,
    envelope: { kind: 'item', object: 'instance' },
    requestSchema: 'MoveRequest',
    responseSchema: 'Instance',
  },
  {
    method: 'GET',
    path: '/statements/{month}/invoice',
    operationId: 'getInvoice',
    tag: 'Balance',
    summary: 'Invoice for a UTC month, as an HTML page.',
    description: 'The page has no scripts or external resources, and is ready to print.',
    document: `query getInvoice($month: String!) { result: invoice(month: $month) { html } }`,
    inputs: [MONTH],
    status: 200,
    envelope: {
      kind: 'text',
      object: 'invoice',
      type: 'text/html; charset=utf-8',
      description: 'A complete HTML page.',
      make: (result) => (result as { html: string }).html,
    },
    responseSchema: 'InvoicePage',
  },
  {
    method: 'GET',
    path: '/instances/{id}/metrics',
    operationId: 'scrapeInstance',
    tag: 'Instances',
    summary: 'Current metrics of an instance, in the Prometheus text format.',
    description:
      'The newest sample of the last 60 s, in base units. Without one, only whether the instance is running. In your Prometheus, set `honor_labels` and scrape at most every 10 s.',
    document: `query scrapeInstance($id: ID!) { result: instance(id: $id) { id name status load {
      at cpuPercent memoryUsedBytes diskUsedBytes networkInBytesPerSecond networkOutBytesPerSecond processes
      gpus { place busyPercent memoryUsedMb memoryTotalMb powerWatts celsius smMhz faults processes } } } }`,
    inputs: [INSTANCE_ID],
    status: 200,
    envelope: {
      kind: 'text',
      object: 'instance',
      type: PROMETHEUS_TYPE,
      description: "Prometheus's text format.",
      make: prometheusText,
    },
    responseSchema: 'PrometheusText',
  },
  {
    method: 'GET',
    path: '/statements/{month}/focus',
    operationId: 'exportFocus',
    tag: 'Balance',
    summary: 'The cost of a UTC month as CSV in FOCUS 1.2.',
    description:
      'One row per resource, kind of charge and UTC day, with the columns of the FinOps Open Cost and Usage Specification. The month has the form 2026-11. Payments are not included.',
    document: 'query exportFocus($month: String!) { result: focusExport(month: $month) }',
    inputs: [MONTH],
    status: 200,
    envelope: {
      kind: 'text',
      object: 'statement',
      type: 'text/csv; charset=utf-8',
      description: 'CSV with a header.',
      make: String,
    },
    responseSchema: 'FocusCsv',
  },
  {
    method: 'GET',
    path: '/instances/{id}/metrics/history',
    operationId: 'getInstanceMetrics',
    tag: 'Instances',
    summary: 'Metrics of an instance over time, by default the last hour.',
    description:
      'In the finest steps that cover the whole period: 10 s are kept for an hour, 60 s for 2 days, 900 s for 90 days. Times without measurements have no point.',
    document: `query getInstanceMetrics($id: ID!, $from: String, $to: String, $points: Int) { result: instance(id: $id) {
      metrics(from: $from, to: $to, points: $points) { step_seconds: stepSeconds points { ${METRIC_POINT} } } } }`,
    member: 'metrics',
    inputs: [
      INSTANCE_ID,
      { in: 'query', name: 'from', variable: 'from' },
      { in: 'query', name: 'to', variable: 'to' },
      { in: 'query', name: 'points', variable: 'points' },
    ],
    status: 200,
    envelope: { kind: 'item', object: 'instance_metrics' },
    responseSchema: 'InstanceMetrics',
  },
  {
    method: 'GET',
    path: '/instances/{id}/timeline',
    operationId: 'getInstanceTimeline',
    tag: 'Instances',
    summary: 'Everything known to have happened to an instance, newest first.',
    description:
      "Deploy, starts, stops and their reasons, events of its container and machine, its volumes, and mutations by the account's keys in the last 90 days. For older entries, pass the page's `end_cursor` as `after`.",
    document: `query getInstanceTimeline($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { result: instance(id: $id) {
      timeline(first: $first, after: $after, last: $last, before: $before) {
        page_info: pageInfo { has_next_page: hasNextPage has_previous_page: hasPreviousPage start_cursor: startCursor end_cursor: endCursor }
        edges { cursor node { ${TIMELINE_ENTRY} } } } } }`,
    member: 'timeline',
    inputs: [
      INSTANCE_ID,
      { in: 'query', name: 'first', variable: 'first' },
      { in: 'query', name: 'after', variable: 'after' },
      { in: 'query', name: 'last', variable: 'last' },
      { in: 'query', name: 'before', variable: 'before' },
    ],
    status: 200,
    envelope: { kind: 'page', object: 'timeline' },
    responseSchema: 'Timeline',
  },
  {
    method: 'GET',
    path: '/volumes',
    operationId: 'listVolumes',
    tag: 'Volumes',
    summary: 'The volumes of the account, oldest first.',
    description: 'At most 100. You can still get a deleted volume by its id.',
    document: `query listVolumes { result: volumes { ${VOLUME} } }`,
    inputs: [],
    status: 200,
    envelope: { kind: 'list', object: 'volumes', count: false, itemObject: 'volume' },
    responseSchema: 'VolumeList',
  },
  {
    method: 'POST',
    path: '/volumes',
    operationId: 'createVolume',
    tag: 'Volumes',
    summary: 'Creates a volume, billed per second until it is deleted.',
    description:
      'Its rate per GB-hour is fixed for life. The balance must cover one hour of everything the account would then be paying for.',
    document: `mutation createVolume($name: String!, $sizeGb: Int!, $idempotencyKey: String) {
      result: createVolume(input: { name: $name, sizeGb: $sizeGb, idempotencyKey: $idempotencyKey }) { ${VOLUME} } }`,
    inputs: [{ in: 'body', name: 'name', variable: 'name' }, SIZE_GB, IDEMPOTENCY_KEY],
    status: 201,
    envelope: { kind: 'item', object: 'volume' },
    requestSchema: 'CreateVolumeRequest',
    responseSchema: 'Volume',
  },
  {
    method: 'GET',
    path: '/volumes/{id}',
    operationId: 'getVolume',
    tag: 'Volumes',
    summary: 'One volume of the account, with its snapshots.',
    description:
      'Including a deleted one. Returns the newest 100 snapshots, newest first. A volume of another account is reported as not found.',
    document: `query getVolume($id: ID!) { result: volume(id: $id) { ${VOLUME} ${SNAPSHOTS} } }`,
    inputs: [VOLUME_ID],
    status: 200,
    envelope: { kind: 'item', object: 'volume' },
    responseSchema: 'VolumeWithSnapshots',
  },
  {
    method: 'POST',
    path: '/volumes/{id}/grow',
    operationId: 'growVolume',
    tag: 'Volumes',
    summary: "Grows a volume; a volume can't shrink.",
    description:
      'Billed at the new size starting with the next second. An instance that uses it sees the new size after its next start.',
    document: `mutation growVolume($id: ID!, $sizeGb: Int!, $idempotencyKey: String) {
      result: growVolume(id: $id, sizeGb: $sizeGb, idempotencyKey: $idempotencyKey) { ${VOLUME} } }`,
    inputs: [VOLUME_ID, SIZE_GB, IDEMPOTENCY_KEY],
    status: 200,
    envelope: { kind: 'item', object: 'volume' },
    requestSchema: 'GrowVolumeRequest',
    responseSchema: 'Volume',
  },
  {
    method: 'DELETE',
    path: '/volumes/{id}',
    operationId: 'deleteVolume',
    tag: 'Volumes',
    summary: 'Deletes a volume with all its snapshots.',
    description: 'Refused while an instance holds its lease. Ends its billing.',
    document: `mutation deleteVolume($id: ID!, $idempotencyKey: String) {
      result: deleteVolume(id: $id, idempotencyKey: $idempotencyKey) { ${VOLUME} } }`,
    inputs: [VOLUME_ID, IDEMPOTENCY_KEY],
    status: 200,
    envelope: { kind: 'item', object: 'volume' },
    responseSchema: 'Volume',
  },
  {
    method: 'POST',
    path: '/volumes/{id}/release',
    operationId: 'releaseVolume',
    tag: 'Volumes',
    summary: "Releases a volume from an instance that isn't running, even if changes are not saved.",
    description:
      "For a host that is lost, or that doesn't report that it has finished. Everything the instance wrote since `lost_since` is lost.",
    document: `mutation releaseVolume($id: ID!) {
      result: releaseVolume(id: $id) { volume_id: volumeId instance_id: instanceId lost_since: lostSince } }`,
    inputs: [VOLUME_ID],
    status: 200,
    envelope: { kind: 'item', object: 'volume_release' },
    responseSchema: 'VolumeRelease',
  },
  {
    method: 'GET',
    path: '/log/roots',
    operationId: 'getLogRoots',
    tag: 'Proofs',
    summary: 'Signed roots of the public log, oldest first.',
    description:
      'A document of type `gpu-rental/roots/v1` with at most 1,000 roots. Request the next ones with the number of the last. Needs no key.',
    document: 'query getLogRoots($after: Int) { result: logRoots(after: $after) }',
    inputs: [{ in: 'query', name: 'after', variable: 'after' }],
    status: 200,
    envelope: { kind: 'document', object: 'roots' },
    responseSchema: 'LogRoots',
  },
  {
    method: 'GET',
    path: '/log/consistency',
    operationId: 'getLogConsistency',
    tag: 'Proofs',
    summary: 'Proof that one tree of the public log extends another.',
    description:
      'A document of type `gpu-rental/consistency/v1`, as RFC 9162 defines it, between two tree sizes. Needs no key.',
    document:
      'query getLogConsistency($first: Int!, $second: Int!) { result: logConsistency(first: $first, second: $second) }',
    inputs: [
      { in: 'query', name: 'first', variable: 'first' },
      { in: 'query', name: 'second', variable: 'second' },
    ],
    status: 200,
    envelope: { kind: 'document', object: 'consistency' },
    responseSchema: 'LogConsistency',
  },
  {
    method: 'GET',
    path: '/log/inclusion',
    operationId: 'getLogInclusion',
    tag: 'Proofs',
    summary: "Proof that the newest root of the public log covers the account's ledger.",
    description:
      'A document of type `gpu-rental/inclusion/v1`. Not found before the first hourly root after the first ledger entry.',
    document: 'query getLogInclusion { result: logInclusion }',
    inputs: [],
    status: 200,
    envelope: { kind: 'document', object: 'inclusion' },
    responseSchema: 'LogInclusion',
  },
];

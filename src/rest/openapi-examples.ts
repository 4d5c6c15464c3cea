/**
 * One example response per schema, recorded from a new gateway. Requests have their own examples, which are built from
 * free machines.
 */

const MODE_PRICES = { on_demand: 0.44, interruptible: 0.22, reserved: 0.286 };
const OFFER_PRICES = { on_demand: 0.44, interruptible: 0.22 };
const NET_MBPS = { down: 6063, up: 4161 };

const GPU_PRICE = {
  slug: 'rtx-4090',
  name: 'NVIDIA GeForce RTX 4090',
  vram_gb: 24,
  tier: 'consumer-flagship',
  price_per_gpu_hour: MODE_PRICES,
  market_median: 0.64,
  available_gpus: 93,
  url: 'https://gpu.example.com/v1/offers?gpu=rtx-4090',
};

const OFFER = {
  machine_id: 'm-5e6d4e9d',
  gpu: 'rtx-4090',
  num_gpus: 1,
  region: 'us-mo',
  cpu: 'AMD EPYC 7J13',
  vcpus: 32,
  ram_gb: 32,
  disk_gb: 332,
  net_mbps: NET_MBPS,
  ports: 250,
  pcie: 4,
  nvlink: false,
  cuda_max: '12.6',
  reliability: 0.9971,
  price_per_hour: OFFER_PRICES,
};

const MODEL_SPLIT = {
  gpus: 1,
  vram_gb_min: 22,
  weight_bytes_per_gpu: 15_231_188_992,
  kv_bytes_per_gpu: 1_879_048_192,
  overhead_bytes_per_gpu: 2_048_576_000,
};
const MODEL_MEMORY = {
  object: 'model_memory',
  model: 'Qwen/Qwen2.5-7B-Instruct',
  architecture: 'Qwen2ForCausalLM',
  parameters: 7_615_283_200,
  weight_bits: 16,
  weights_from: 'hub',
  weight_bytes: 15_231_188_992,
  kv_bytes_per_token: 57_344,
  kv_bytes: 1_879_048_192,
  context_length: 8_192,
  max_context_length: 32_768,
  concurrency: 4,
  disk_gb: 60,
  splits: [MODEL_SPLIT],
};

const INSTANCE = {
  object: 'instance',
  id: 'i-b74ef499',
  status: 'running',
  gpu: 'rtx-4090',
  num_gpus: 1,
  region: 'us-mo',
  template: 'pytorch',
  disk_gb: 100,
  type: 'od',
  price_hr: 0.44,
  hostname: 'i-b74ef499.gpu.example.com',
  created_at: '2026-11-22T03:28:04Z',
  stopped_at: null,
};

const LAUNCH_SECRET = { secret: 'hf', variable: 'HF_TOKEN', file: null };
const LAUNCH_PORT = { port: 8888, name: 'JupyterLab' };
const ATTACHED_VOLUME = { id: 'v-31f72534', path: '/data' };
const LAUNCH = {
  name: 'train-1',
  env: { MODEL: 'base' },
  secrets: [LAUNCH_SECRET],
  entrypoint: null,
  command: ['python', 'train.py'],
  ports: [LAUNCH_PORT],
  tcp_ports: [],
  registry_login: null,
  user: null,
  restart: 'always',
  on_exit: 'keep',
};

const VOLUME = {
  object: 'volume',
  id: 'v-31f72534',
  name: 'work',
  size_gb: 200,
  price_hr: 0.02,
  created_at: '2026-11-22T03:28:04Z',
  deleted_at: null,
  in_use_by: 'i-b74ef499',
  stored_bytes: 5_368_709_120,
  last_snapshot_at: '2026-11-22T04:18:11Z',
};
const SNAPSHOT = {
  id: '5f0c1a4c2e6f4d0b9a58bb1c3bd1f9a7a4a3d4b6f6c1f2f0e8f6b4a1c9d7e5f3',
  at: '2026-11-22T04:18:11Z',
  size_bytes: 7_516_192_768,
  instance_id: 'i-b74ef499',
};

const GPU_METRICS = {
  place: 0,
  busy_percent: 97,
  busy_max_percent: 97,
  memory_used_mb: 20_113,
  memory_total_mb: 24_564,
  power_watts: 412.6,
  celsius: 71,
  sm_mhz: 2_520,
  faults: 0,
  processes: 1,
};
const METRIC_POINT = {
  at: '2026-11-22T04:18:10Z',
  cpu_percent: 31.5,
  memory_used_bytes: 17_179_869_184,
  disk_used_bytes: 41_205_000_000,
  network_in_bytes_per_second: 1_250_000,
  network_out_bytes_per_second: 48_000,
  processes: 42,
  gpus: [GPU_METRICS],
};

const ACTIVITY = {
  at: '2026-11-22T04:18:10Z',
  operation: 'stop',
  targets: ['i-b74ef499'],
  key_id: 'key-4f1d2c3b5a697887',
  by_console: false,
  address: '203.0.113.7',
  code: null,
  times: 1,
};
const PAGE_INFO = {
  has_next_page: true,
  has_previous_page: false,
  start_cursor: 'VDoxNzk1MzIxMDkwOjEzOjE=',
  end_cursor: 'VDoxNzk1MzIxMDkwOjEzOjE=',
};
const TIMELINE_ENTRY = {
  cursor: PAGE_INFO.end_cursor,
  at: '2026-11-22T04:18:10Z',
  kind: 'stopped',
  rate_per_hour: null,
  amount: 0.367644,
  seconds: 3_008,
  stop_reason: 'user',
  credit_reason: null,
  host_fault: null,
  volume_id: null,
  volume_name: null,
  size_bytes: null,
  asked: ACTIVITY,
};

/** For illustration only: the hashes and the signature don't verify. */
const ROOT = {
  type: 'gpu-rental/root/v1',
  number: 1,
  at: '2026-11-20T13:00:00Z',
  size: 2,
  root: '2f6b0f2c9b1c0a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c',
  previous: null,
  key: '7d1c0a6c5d4e3f2a',
  signature: 'Zm9yIGlsbHVzdHJhdGlvbiBvbmx5LCB0aGlzIGlzIG5vdCBhIHZhbGlkIHNpZ25hdHVyZSBvZiA2NCBieXRlcw==',
};
const HASH = '9c1c0a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c2f6b0f2c';

/** Examples by schema name. */
export const EXAMPLES: Readonly<Record<string, object | string>> = {
  InvoicePage: '<!doctype html>\n<html lang="en">…</html>\n',
  FocusCsv: 'BilledCost,BillingAccountId,BillingCurrency\n0.44,acc-1f0c2b7a9d3e4f55,USD\n',
  PrometheusText: 'gpu_rental_instance_gpu_busy_ratio{instance="i-b74ef499",name="train-1",gpu="0"} 0.97\n',
  GpuMetrics: GPU_METRICS,
  MetricPoint: METRIC_POINT,
  InstanceMetrics: { object: 'instance_metrics', step_seconds: 10, points: [METRIC_POINT] },
  Activity: ACTIVITY,
  PageInfo: PAGE_INFO,
  TimelineEntry: TIMELINE_ENTRY,
  Timeline: { object: 'timeline', page_info: PAGE_INFO, data: [TIMELINE_ENTRY] },
  ModePrices: MODE_PRICES,
  GpuPrice: GPU_PRICE,
  PriceSheet: {
    object: 'gpu_pricing',
    currency: 'USD',
    billing: 'per_second',
    price_rule: 'public marketplace median for the model x 0.70, rounded down',
    market_snapshot: '2026-09-26',
    count: 1,
    data: [GPU_PRICE],
  },
  NetMbps: NET_MBPS,
  ModelSplit: MODEL_SPLIT,
  ModelMemory: MODEL_MEMORY,
  OfferPrices: OFFER_PRICES,
  Offer: OFFER,
  OfferList: { object: 'offers', count: 1, data: [OFFER] },
  LogRoots: { type: 'gpu-rental/roots/v1', roots: [ROOT] },
  LogConsistency: { type: 'gpu-rental/consistency/v1', first: 1, second: 2, path: [HASH] },
  LogInclusion: {
    type: 'gpu-rental/inclusion/v1',
    pseudonym: HASH,
    number: 4,
    head: HASH,
    index: 0,
    path: [HASH],
    root: ROOT,
  },
  Balance: { object: 'balance', currency: 'USD', balance: 99.992308, month_spend: 0.007692 },
  Instance: INSTANCE,
  InstanceList: { object: 'instances', data: [INSTANCE] },
  AttachedVolume: ATTACHED_VOLUME,
  LaunchSecret: LAUNCH_SECRET,
  LaunchPort: LAUNCH_PORT,
  Launch: LAUNCH,
  InstanceLaunch: {
    object: 'instance_launch',
    id: 'i-b74ef499',
    name: 'train-1',
    template: 'pytorch',
    disk_gb: 100,
    type: 'od',
    stop_at: '2026-11-22T18:00:00Z',
    destroy_at: null,
    spend_limit: 5,
    stop_when_idle: null,
    labels: { team: 'vision' },
    volumes: [ATTACHED_VOLUME],
    launch: LAUNCH,
  },
  DestroyedInstance: { object: 'instance', id: 'i-b74ef499', status: 'destroyed' },
  Volume: VOLUME,
  VolumeList: { object: 'volumes', data: [VOLUME] },
  VolumeRelease: {
    object: 'volume_release',
    volume_id: 'v-31f72534',
    instance_id: 'i-b74ef499',
    lost_since: '2026-11-22T04:18:11Z',
  },
  VolumeSnapshot: SNAPSHOT,
  VolumeWithSnapshots: { ...VOLUME, snapshots: [SNAPSHOT] },
  WebToken: {
    object: 'web_token',
    token: 'mQ2xv0J8h5rT1nYb6KfZ3sLw9CdEaUiPoXqVgRtHkNM',
    header: 'X-Web-Token',
    url: 'https://i-31f72534-8000.gpu.example.com',
    expires_at: '2026-11-23T04:18:11Z',
  },
  Error: { error: { code: 'not_found', message: 'no such instance' } },
};

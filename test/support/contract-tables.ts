/** The contract's tables of fields, in the contract's order. `?` marks fields that may be null. */
type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'string?' | 'number?' | FieldTable | [FieldTable];
export type FieldTable = readonly (readonly [name: string, type: FieldType])[];

const GPU_PRICING: FieldTable = [
  ['slug', 'string'],
  ['name', 'string'],
  ['vram_gb', 'integer'],
  ['tier', 'string'],
  [
    'price_per_gpu_hour',
    [
      ['on_demand', 'number'],
      ['interruptible', 'number'],
      ['reserved', 'number'],
    ],
  ],
  ['market_median', 'number?'],
  ['available_gpus', 'integer'],
  ['url', 'string'],
];

export const PRICE_SHEET: FieldTable = [
  ['object', 'string'],
  ['currency', 'string'],
  ['billing', 'string'],
  ['price_rule', 'string'],
  ['market_snapshot', 'string'],
  ['count', 'integer'],
  ['data', [GPU_PRICING]],
];

export const OFFER: FieldTable = [
  ['machine_id', 'string'],
  ['gpu', 'string'],
  ['num_gpus', 'integer'],
  ['region', 'string'],
  ['cpu', 'string'],
  ['vcpus', 'integer'],
  ['ram_gb', 'integer'],
  ['disk_gb', 'integer'],
  [
    'net_mbps',
    [
      ['down', 'integer'],
      ['up', 'integer'],
    ],
  ],
  ['ports', 'integer'],
  ['pcie', 'integer'],
  ['nvlink', 'boolean'],
  ['cuda_max', 'string'],
  ['reliability', 'number'],
  [
    'price_per_hour',
    [
      ['on_demand', 'number'],
      ['interruptible', 'number'],
    ],
  ],
];

export const OFFERS: FieldTable = [
  ['object', 'string'],
  ['count', 'integer'],
  ['data', [OFFER]],
];

export const INSTANCE: FieldTable = [
  ['object', 'string'],
  ['id', 'string'],
  ['status', 'string'],
  ['gpu', 'string'],
  ['num_gpus', 'integer'],
  ['region', 'string'],
  ['template', 'string'],
  ['disk_gb', 'integer'],
  ['type', 'string'],
  ['price_hr', 'number'],
  ['hostname', 'string'],
  ['created_at', 'string'],
  ['stopped_at', 'string?'],
];

export const INSTANCES: FieldTable = [
  ['object', 'string'],
  ['data', [INSTANCE]],
];

export const BALANCE: FieldTable = [
  ['object', 'string'],
  ['currency', 'string'],
  ['balance', 'number'],
  ['month_spend', 'number'],
];

export const DESTROYED: FieldTable = [
  ['object', 'string'],
  ['id', 'string'],
  ['status', 'string'],
];

export const ERROR: FieldTable = [
  [
    'error',
    [
      ['code', 'string'],
      ['message', 'string'],
    ],
  ],
];

/** Returns each difference of the value from the table: missing, unknown or misplaced names, and wrong types. */
export function misfits(value: unknown, table: FieldTable, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path} is no object`];
  const names = table.map(([name]) => name);
  const found = Object.keys(value);
  if (found.join() !== names.join()) return [`${path} has ${found.join()} instead of ${names.join()}`];
  return table.flatMap(([name, type]) => {
    const member = (value as Record<string, unknown>)[name];
    return misfitsOfType(member, type, `${path}.${name}`);
  });
}

function misfitsOfType(value: unknown, type: FieldType, path: string): string[] {
  if (typeof type === 'string') return fits(value, type) ? [] : [`${path} is ${JSON.stringify(value)}, no ${type}`];
  if (!isList(type)) return misfits(value, type, path);
  if (!Array.isArray(value)) return [`${path} is no list`];
  return value.flatMap((entry, index) => misfits(entry, type[0], `${path}[${index}]`));
}

function isList(type: FieldTable | [FieldTable]): type is [FieldTable] {
  return Array.isArray(type[0]?.[0]);
}

function fits(value: unknown, type: string): boolean {
  if (type.endsWith('?')) return value === null || fits(value, type.slice(0, -1));
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

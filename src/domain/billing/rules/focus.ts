import { MICRO_PER_USD, UNITS_PER_MICRO, type Units } from '../../kernel/money.js';
import { addMonths, formatInstant, type Instant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../kernel/time.js';

/** A charge, credit or adjustment on one UTC day, with what the export shows about it. */
export interface FocusCharge {
  kind: 'GPU' | 'DISK' | 'VOLUME' | 'EARLY_EXIT' | 'PREEMPTION_MINIMUM' | 'SERVICE_CREDIT' | 'ADJUSTMENT';
  day: Instant;
  /** The exact cost; negative for a credit. */
  units: Units;
  /** Charged seconds and the locked rate. Null if the cost isn't for usage. */
  seconds: bigint | null;
  rate: bigint | null;
  resource: FocusResource | null;
  /** The operator's note on an adjustment or credit. */
  note: string | null;
}

/** An instance or a volume. Only an instance has a GPU, mode and region. */
export interface FocusResource {
  id: string;
  name: string | null;
  isVolume: boolean;
  gpu: string | null;
  numGpus: number | null;
  mode: 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED' | null;
  region: string | null;
  labels: Readonly<Record<string, string>> | null;
}

/** Values that are the same in all rows of an export. */
export interface FocusBill {
  accountId: string;
  accountName: string;
  operatorName: string;
  month: Instant;
}

type Cell = (charge: FocusCharge, bill: FocusBill) => string | null;

/** Decimals of amounts and quantities. Errors of 277,000 rows add up to less than one unit of 1/3,600 micro-USD. */
const DECIMALS = 15;
const SCALE = 10n ** BigInt(DECIMALS);
const UNITS_PER_USD = MICRO_PER_USD * UNITS_PER_MICRO;

const KINDS: Readonly<Record<FocusCharge['kind'], { category: string; service: string; label: string }>> = {
  GPU: { category: 'Usage', service: 'GPU', label: 'GPU time' },
  DISK: { category: 'Usage', service: 'DISK', label: 'Disk' },
  VOLUME: { category: 'Usage', service: 'VOLUME', label: 'Volume' },
  EARLY_EXIT: { category: 'Adjustment', service: 'GPU', label: 'Early exit from a reserved term' },
  PREEMPTION_MINIMUM: { category: 'Adjustment', service: 'GPU', label: 'Minimum GPU time after a preemption' },
  SERVICE_CREDIT: { category: 'Credit', service: 'GPU', label: 'Service credit' },
  ADJUSTMENT: { category: 'Adjustment', service: 'OTHER', label: 'Adjustment' },
};

const SERVICES: Readonly<Record<string, { category: string; subcategory: string; name: string }>> = {
  GPU: { category: 'Compute', subcategory: 'Containers', name: 'GPU instances' },
  DISK: { category: 'Storage', subcategory: 'Block Storage', name: 'Instance disks' },
  VOLUME: { category: 'Storage', subcategory: 'File Storage', name: 'Volumes' },
  OTHER: { category: 'Other', subcategory: 'Other (Other)', name: 'Account' },
};

const none: Cell = () => null;
const cost: Cell = ({ units }) => decimal(units, UNITS_PER_USD);
const price: Cell = ({ kind, rate }) => (isUsage(kind) && rate !== null ? decimal(rate, MICRO_PER_USD) : null);
const operator: Cell = (_, { operatorName }) => operatorName;
const region: Cell = ({ resource }) => resource?.region ?? null;
const sku: Cell = ({ kind, resource }) => {
  if (!isUsage(kind)) return null;
  return kind === 'GPU' ? `gpu/${resource?.gpu}/${resource?.numGpus}` : kind.toLowerCase();
};

/**
 * Columns of an export in FOCUS 1.2, and one of the service's own. Columns that are conditional on features that the
 * service lacks, such as other pricing currencies, and that must then not be null, are omitted.
 */
const COLUMNS: Readonly<Record<string, Cell>> = {
  AvailabilityZone: none,
  BilledCost: cost,
  BillingAccountId: (_, { accountId }) => accountId,
  BillingAccountName: (_, { accountName }) => accountName,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: (_, { month }) => formatInstant(addMonths(month, 1)),
  BillingPeriodStart: (_, { month }) => formatInstant(month),
  CapacityReservationId: none,
  CapacityReservationStatus: none,
  ChargeCategory: ({ kind }) => KINDS[kind].category,
  ChargeClass: none,
  ChargeDescription: ({ kind, note }) => (note === null ? KINDS[kind].label : `${KINDS[kind].label}: ${note}`),
  ChargeFrequency: ({ kind }) => (isUsage(kind) ? 'Usage-Based' : 'One-Time'),
  ChargePeriodEnd: ({ day }) => formatInstant(day + SECONDS_PER_DAY),
  ChargePeriodStart: ({ day }) => formatInstant(day),
  CommitmentDiscountCategory: none,
  CommitmentDiscountId: none,
  CommitmentDiscountName: none,
  CommitmentDiscountQuantity: none,
  CommitmentDiscountStatus: none,
  CommitmentDiscountType: none,
  CommitmentDiscountUnit: none,
  ConsumedQuantity: ({ kind, seconds }) => (isUsage(kind) ? String(seconds) : null),
  ConsumedUnit: ({ kind }) => (isUsage(kind) ? 'Seconds' : null),
  ContractedCost: cost,
  ContractedUnitPrice: price,
  EffectiveCost: cost,
  InvoiceId: none,
  InvoiceIssuerName: operator,
  ListCost: cost,
  ListUnitPrice: price,
  PricingCategory: ({ kind, resource }) => {
    if (!isUsage(kind)) return null;
    return kind === 'GPU' && resource?.mode === 'INTERRUPTIBLE' ? 'Dynamic' : 'Standard';
  },
  PricingQuantity: ({ kind, seconds }) =>
    isUsage(kind) && seconds !== null ? decimal(seconds, SECONDS_PER_HOUR) : null,
  PricingUnit: ({ kind }) => (isUsage(kind) ? 'Hours' : null),
  ProviderName: operator,
  PublisherName: operator,
  RegionId: region,
  RegionName: region,
  ResourceId: ({ resource }) => resource?.id ?? null,
  ResourceName: ({ resource }) => resource?.name ?? null,
  ResourceType: ({ resource }) => (resource === null ? null : resource.isVolume ? 'Volume' : 'Instance'),
  ServiceCategory: (charge) => serviceOf(charge).category,
  ServiceName: (charge) => serviceOf(charge).name,
  ServiceSubcategory: (charge) => serviceOf(charge).subcategory,
  SkuId: sku,
  SkuMeter: ({ kind }) => (isUsage(kind) ? KINDS[kind].label : null),
  SkuPriceDetails: ({ kind, resource }) =>
    kind === 'GPU' && resource !== null ? JSON.stringify({ GpuCount: resource.numGpus, x_Gpu: resource.gpu }) : null,
  SkuPriceId: (charge, bill) =>
    charge.kind === 'GPU' ? `${sku(charge, bill)}/${charge.resource?.mode?.toLowerCase()}` : sku(charge, bill),
  SubAccountId: none,
  SubAccountName: none,
  SubAccountType: none,
  Tags: ({ resource }) =>
    resource?.labels && Object.keys(resource.labels).length > 0 ? JSON.stringify(resource.labels) : null,
  x_Units: ({ units }) => String(units),
};

export const FOCUS_COLUMNS: readonly string[] = Object.keys(COLUMNS);

/** Returns a charge's cells in the order of the columns. Cells that don't apply are null. */
export function focusRow(charge: FocusCharge, bill: FocusBill): (string | null)[] {
  return Object.values(COLUMNS).map((cell) => cell(charge, bill));
}

function isUsage(kind: FocusCharge['kind']): boolean {
  return KINDS[kind].category === 'Usage';
}

/** A credit is for the service of its resource. */
function serviceOf({ kind, resource }: FocusCharge) {
  const service = kind === 'SERVICE_CREDIT' && resource === null ? 'OTHER' : KINDS[kind].service;
  return SERVICES[service]!;
}

/** Returns a quotient with at most 15 decimals, rounded to the nearest, without trailing zeros. */
export function decimal(dividend: bigint, divisor: bigint): string {
  const absolute = dividend < 0n ? -dividend : dividend;
  const scaled = (absolute * SCALE * 2n + divisor) / (divisor * 2n);
  const decimals = (scaled % SCALE).toString().padStart(DECIMALS, '0').replace(/0+$/, '');
  const sign = dividend < 0n && scaled > 0n ? '-' : '';
  return `${sign}${scaled / SCALE}${decimals === '' ? '' : `.${decimals}`}`;
}

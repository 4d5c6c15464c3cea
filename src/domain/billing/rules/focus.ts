import { MICRO_PER_USD, UNITS_PER_USD, type Units } from '../../kernel/money.js';
import { addMonths, formatInstant, type Instant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../kernel/time.js';

/** A charge, credit or adjustment on one UTC day, with what the export shows about it. */
export interface FocusCharge {
  kind: 'GPU' | 'DISK' | 'VOLUME' | 'EARLY_EXIT' | 'PREEMPTION_MINIMUM' | 'SERVICE_CREDIT' | 'ADJUSTMENT';
  day: Instant;
  /** The exact cost; negative for a credit. */
  units: Units;
  /** Charged seconds and the locked rate. Null for a credit or adjustment. */
  seconds: bigint | null;
  rate: bigint | null;
  resource: FocusResource | null;
  /** The refunded charges of a service credit. Null for other charges. */
  refund: FocusRefund | null;
  /** The operator's note on an adjustment or credit. */
  note: string | null;
}

export interface FocusRefund {
  resource: 'GPU' | 'DISK';
  /** Whether charges of an earlier month are refunded, of which there is already an invoice. */
  isLate: boolean;
}

/** An instance or a volume. Only an instance has a GPU, mode and region. */
export interface FocusResource {
  id: string;
  name: string | null;
  isVolume: boolean;
  /** Locked rate per GB of the instance's disk or of the volume. */
  gbRate: bigint;
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
  invoiceId: string;
  month: Instant;
}

type Cell = (charge: FocusCharge, bill: FocusBill) => string | null;

/** Decimals of amounts and quantities. Errors of 277,000 rows add up to less than one unit of 1/3,600 micro-USD. */
const DECIMALS = 15;
const SCALE = 10n ** BigInt(DECIMALS);

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
const currency: Cell = () => 'USD';
const operator: Cell = (_, { operatorName }) => operatorName;
const region: Cell = ({ resource }) => resource?.region ?? null;

/**
 * All costs are equal. The modes have different published prices, which no contract or commitment reduces: a reserved
 * rate is for usage of one instance as it happens, without a purchase that could be amortized or remain unused.
 */
const cost: Cell = ({ units }) => decimal(units, UNITS_PER_USD);

/** Null for charges other than usage. These have no quantity, so their costs aren't a price times a quantity. */
function forUsage(cell: Cell): Cell {
  return (charge, bill) => (isUsage(charge.kind) ? cell(charge, bill) : null);
}

/** Storage is measured and priced per GB, because the price sheet has one price for all sizes. */
const price = forUsage(({ kind, rate, resource }) => decimal(kind === 'GPU' ? rate! : resource!.gbRate, MICRO_PER_USD));

/** Ids don't depend on the mode, but ids of prices do. Neither depends on an amount, an account or a time. */
const sku = forUsage(({ kind, resource }) =>
  kind === 'GPU' ? `gpu/${resource!.gpu}/${resource!.numGpus}` : kind.toLowerCase(),
);
const skuPrice = forUsage((charge, bill) =>
  [sku(charge, bill), ...(charge.kind === 'GPU' ? [charge.resource!.mode!.toLowerCase()] : [])].join('/'),
);

/**
 * All columns of FOCUS 1.2, followed by one of the service's own. Columns for features that the service lacks, such as
 * commitment discounts, are null.
 */
const COLUMNS: Readonly<Record<string, Cell>> = {
  AvailabilityZone: none,
  BilledCost: cost,
  BillingAccountId: (_, { accountId }) => accountId,
  BillingAccountName: (_, { accountName }) => accountName,
  BillingAccountType: () => 'Account',
  BillingCurrency: currency,
  BillingPeriodEnd: (_, { month }) => formatInstant(addMonths(month, 1)),
  BillingPeriodStart: (_, { month }) => formatInstant(month),
  CapacityReservationId: none,
  CapacityReservationStatus: none,
  ChargeCategory: ({ kind }) => KINDS[kind].category,
  ChargeClass: ({ refund }) => (refund?.isLate ? 'Correction' : null),
  ChargeDescription: (charge, bill) => description(charge, price(charge, bill)),
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
  ConsumedQuantity: forUsage((charge) => quantity(charge, 1n)),
  ConsumedUnit: forUsage(({ kind }) => (kind === 'GPU' ? 'Seconds' : 'GB-Seconds')),
  ContractedCost: cost,
  ContractedUnitPrice: price,
  EffectiveCost: cost,
  InvoiceId: (_, { invoiceId }) => invoiceId,
  InvoiceIssuerName: operator,
  ListCost: cost,
  ListUnitPrice: price,
  PricingCategory: forUsage(({ kind, resource }) =>
    kind === 'GPU' && resource!.mode === 'INTERRUPTIBLE' ? 'Dynamic' : 'Standard',
  ),
  PricingCurrency: currency,
  PricingCurrencyContractedUnitPrice: price,
  PricingCurrencyEffectiveCost: cost,
  PricingCurrencyListUnitPrice: price,
  PricingQuantity: forUsage((charge) => quantity(charge, SECONDS_PER_HOUR)),
  PricingUnit: forUsage(({ kind }) => (kind === 'GPU' ? 'Hours' : 'GB-Hours')),
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
  SkuMeter: forUsage(({ kind }) => KINDS[kind].label),
  SkuPriceDetails: ({ kind, resource }) =>
    kind === 'GPU' ? JSON.stringify({ GpuCount: resource!.numGpus, x_Gpu: resource!.gpu }) : null,
  SkuPriceId: skuPrice,
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

/** A refund is for the service that it refunds. */
function serviceOf({ kind, refund }: FocusCharge) {
  return SERVICES[refund?.resource ?? KINDS[kind].service]!;
}

/** Returns the used units of `secondsPerUnit`; for storage, multiplied by its GB. */
function quantity({ kind, seconds, rate, resource }: FocusCharge, secondsPerUnit: bigint): string {
  if (kind === 'GPU') return decimal(seconds!, secondsPerUnit);
  return decimal(seconds! * rate!, secondsPerUnit * resource!.gbRate);
}

function description({ kind, note }: FocusCharge, unitPrice: string | null): string {
  const { label } = KINDS[kind];
  if (unitPrice !== null) return `${label} at ${unitPrice} USD per ${kind === 'GPU' ? 'hour' : 'GB-hour'}`;
  return note === null ? label : `${label}: ${note}`;
}

/**
 * Returns a quotient with 1 to 15 decimals, rounded to the nearest. Tools that infer a column's type from its values
 * would read a column of whole numbers as integers.
 */
export function decimal(dividend: bigint, divisor: bigint): string {
  const absolute = dividend < 0n ? -dividend : dividend;
  const scaled = (absolute * SCALE * 2n + divisor) / (divisor * 2n);
  const decimals = (scaled % SCALE)
    .toString()
    .padStart(DECIMALS, '0')
    .replace(/(?<=.)0+$/, '');
  const sign = dividend < 0n && scaled > 0n ? '-' : '';
  return `${sign}${scaled / SCALE}.${decimals}`;
}

import { parse } from 'csv-parse/sync';

type Row = Readonly<Record<string, string>>;

/** Form of a column's values: a kind of text, or the list of allowed values. */
type Form = 'decimal' | 'price' | 'time' | 'text' | 'unit' | 'currency' | 'properties' | readonly string[];

/**
 * When a value is null: never; in all rows, because the service lacks the feature; in the same rows as another column;
 * or unless the charge is for usage. `any` leaves it to the other rules.
 */
type Nulls = 'never' | 'always' | 'any' | 'unless usage' | { as: string };

const TEXT = 'text' as const;
const USED = ['Used', 'Unused'];

/** Columns of FOCUS 1.2, which are all exported. */
const COLUMNS: Readonly<Record<string, readonly [Form, Nulls]>> = {
  AvailabilityZone: [TEXT, 'always'],
  BilledCost: ['decimal', 'never'],
  BillingAccountId: [TEXT, 'never'],
  BillingAccountName: [TEXT, 'never'],
  BillingAccountType: [TEXT, 'never'],
  BillingCurrency: ['currency', 'never'],
  BillingPeriodEnd: ['time', 'never'],
  BillingPeriodStart: ['time', 'never'],
  CapacityReservationId: [TEXT, 'always'],
  CapacityReservationStatus: [USED, 'always'],
  ChargeCategory: [['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'], 'never'],
  ChargeClass: [['Correction'], 'any'],
  ChargeDescription: [TEXT, 'never'],
  ChargeFrequency: [['One-Time', 'Recurring', 'Usage-Based'], 'never'],
  ChargePeriodEnd: ['time', 'never'],
  ChargePeriodStart: ['time', 'never'],
  CommitmentDiscountCategory: [['Spend', 'Usage'], 'always'],
  CommitmentDiscountId: [TEXT, 'always'],
  CommitmentDiscountName: [TEXT, 'always'],
  CommitmentDiscountQuantity: ['decimal', 'always'],
  CommitmentDiscountStatus: [USED, 'always'],
  CommitmentDiscountType: [TEXT, 'always'],
  CommitmentDiscountUnit: ['unit', 'always'],
  ConsumedQuantity: ['decimal', 'unless usage'],
  ConsumedUnit: ['unit', { as: 'ConsumedQuantity' }],
  ContractedCost: ['decimal', 'never'],
  ContractedUnitPrice: ['price', 'unless usage'],
  EffectiveCost: ['decimal', 'never'],
  InvoiceId: [TEXT, 'never'],
  InvoiceIssuerName: [TEXT, 'never'],
  ListCost: ['decimal', 'never'],
  ListUnitPrice: ['price', 'unless usage'],
  PricingCategory: [['Standard', 'Dynamic', 'Committed', 'Other'], 'unless usage'],
  PricingCurrency: ['currency', 'never'],
  PricingCurrencyContractedUnitPrice: ['price', 'unless usage'],
  PricingCurrencyEffectiveCost: ['decimal', 'never'],
  PricingCurrencyListUnitPrice: ['price', 'unless usage'],
  PricingQuantity: ['decimal', 'unless usage'],
  PricingUnit: ['unit', { as: 'PricingQuantity' }],
  ProviderName: [TEXT, 'never'],
  PublisherName: [TEXT, 'never'],
  RegionId: [TEXT, 'any'],
  RegionName: [TEXT, { as: 'RegionId' }],
  ResourceId: [TEXT, 'any'],
  ResourceName: [TEXT, 'any'],
  ResourceType: [TEXT, { as: 'ResourceId' }],
  ServiceCategory: [['Compute', 'Storage', 'Other'], 'never'],
  ServiceName: [TEXT, 'never'],
  ServiceSubcategory: [TEXT, 'never'],
  SkuId: [TEXT, 'unless usage'],
  SkuMeter: [TEXT, { as: 'SkuId' }],
  SkuPriceDetails: ['properties', 'any'],
  SkuPriceId: [TEXT, 'unless usage'],
  SubAccountId: [TEXT, 'always'],
  SubAccountName: [TEXT, 'always'],
  SubAccountType: [TEXT, 'always'],
  Tags: ['properties', 'any'],
};

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
/** FOCUS also allows whole numbers as decimals, but tools that infer types would read such a column as integers. */
const FORMS: Readonly<Record<Exclude<Form, readonly string[]>, (value: string) => boolean>> = {
  decimal: (value) => /^-?\d+\.\d+$/.test(value),
  price: (value) => /^\d+\.\d+$/.test(value),
  time: (value) => TIME.test(value) && !Number.isNaN(Date.parse(value)),
  text: (value) => value.trim() !== '',
  unit: (value) => /^(GB-)?(Hours|Seconds)$/.test(value),
  currency: (value) => value === 'USD',
  properties: isFlatObject,
};

/** Subcategories of the categories in use. */
const SUBCATEGORIES: Readonly<Record<string, readonly string[]>> = {
  Compute: [
    'Containers',
    'End User Computing',
    'Quantum Compute',
    'Serverless Compute',
    'Virtual Machines',
    'Other (Compute)',
  ],
  Storage: [
    'Backup Storage',
    'Block Storage',
    'File Storage',
    'Object Storage',
    'Storage Platforms',
    'Other (Storage)',
  ],
  Other: ['Other (Other)'],
};

/** Properties of a price that FOCUS defines and that apply here. Others must start with `x_`. */
const PRICE_PROPERTY = /^(GpuCount|x_[A-Za-z]+)$/;

/** Rules about several values of a row. Values are not null unless the rule allows it. */
const RELATIONS: Readonly<Record<string, (row: Row) => boolean>> = {
  'ListCost is ListUnitPrice times PricingQuantity, or BilledCost without a price': (row) =>
    isProduct(row, 'ListUnitPrice', 'ListCost'),
  'ContractedCost is ContractedUnitPrice times PricingQuantity, or BilledCost without a price': (row) =>
    isProduct(row, 'ContractedUnitPrice', 'ContractedCost'),
  'EffectiveCost is BilledCost without a commitment': (row) => row.EffectiveCost === row.BilledCost,
  'prices and costs are the same in the pricing currency': (row) =>
    row.PricingCurrencyEffectiveCost === row.EffectiveCost &&
    row.PricingCurrencyListUnitPrice === row.ListUnitPrice &&
    row.PricingCurrencyContractedUnitPrice === row.ContractedUnitPrice,
  'the billing period is a month': ({ BillingPeriodStart, BillingPeriodEnd }) =>
    BillingPeriodStart!.endsWith('-01T00:00:00Z') && BillingPeriodEnd === monthAfter(BillingPeriodStart!),
  'the charge period is a part of the billing period': (row) =>
    row.ChargePeriodStart! < row.ChargePeriodEnd! &&
    row.ChargePeriodStart! >= row.BillingPeriodStart! &&
    row.ChargePeriodEnd! <= row.BillingPeriodEnd!,
  'only usage repeats with use': (row) => (row.ChargeFrequency === 'Usage-Based') === (row.ChargeCategory === 'Usage'),
  'only a credit is a correction': (row) => row.ChargeClass === '' || row.ChargeCategory === 'Credit',
  'the subcategory is one of the category': (row) =>
    SUBCATEGORIES[row.ServiceCategory!]?.includes(row.ServiceSubcategory!) === true,
  'the name is not the id': (row) => row.ResourceName === '' || row.ResourceName !== row.ResourceId,
  'usage has a resource': (row) => row.ChargeCategory !== 'Usage' || row.ResourceId !== '',
  'only a resource has a name, a region and tags': (row) =>
    row.ResourceId !== '' || [row.ResourceName, row.RegionId, row.Tags].every((value) => value === ''),
  'the details of a price are defined or begin with x_': (row) =>
    row.SkuPriceDetails === '' ||
    (row.SkuPriceId !== '' && Object.keys(JSON.parse(row.SkuPriceDetails!)).every((key) => PRICE_PROPERTY.test(key))),
};

/** Columns whose value determines another column's value in all rows. */
const DETERMINED = [
  ['SkuPriceId', 'SkuId'],
  ['SkuPriceId', 'SkuPriceDetails'],
  ['SkuPriceId', 'PricingUnit'],
  ['SkuId', 'SkuMeter'],
  ['ServiceName', 'ServiceSubcategory'],
  ['ResourceId', 'ResourceType'],
  ['BillingAccountId', 'InvoiceId'],
] as const;

/** Returns where the CSV of a month breaks a rule of FOCUS 1.2, with the row's number, such as `3: ListCost is null`. */
export function focusFaults(csv: string): string[] {
  const [header, ...rows] = parse(csv) as [string[], ...string[][]];
  const records = rows.map((cells): Row => Object.fromEntries(header.map((name, index) => [name, cells[index]!])));
  const faults = headerFaults(header);
  if (faults.length > 0) return faults;
  return [
    ...records.flatMap((row, index) => rowFaults(row).map((fault) => `${index + 1}: ${fault}`)),
    ...DETERMINED.flatMap(([name, other]) => determinedFaults(records, name, other)),
  ];
}

function headerFaults(header: readonly string[]): string[] {
  const custom = header.findIndex((name) => name.startsWith('x_'));
  return [
    ...Object.keys(COLUMNS).flatMap((name) => (header.includes(name) ? [] : [`${name} is missing`])),
    ...header.flatMap((name, index) => {
      if (header.indexOf(name) < index) return [`${name} occurs twice`];
      if (/^x_[A-Z][A-Za-z0-9]{0,47}$/.test(name)) return [];
      if (!(name in COLUMNS)) return [`${name} is unknown`];
      return custom !== -1 && index > custom ? [`${name} follows a custom column`] : [];
    }),
  ];
}

function rowFaults(row: Row): string[] {
  const faults = Object.entries(COLUMNS).flatMap(([name, [form, nulls]]) => {
    const value = row[name]!;
    if (value === '') return mustNotBeNull(row, nulls) ? [`${name} is null`] : [];
    if (mustBeNull(row, nulls)) return [`${name} is not null`];
    const isRight = typeof form === 'string' ? FORMS[form](value) : form.includes(value);
    return isRight ? [] : [`${name} is ${value}`];
  });
  if (faults.length > 0) return faults;
  return Object.entries(RELATIONS).flatMap(([rule, holds]) => (holds(row) ? [] : [`not so: ${rule}`]));
}

function mustNotBeNull(row: Row, nulls: Nulls): boolean {
  if (typeof nulls === 'object') return row[nulls.as] !== '';
  return nulls === 'never' || (nulls === 'unless usage' && row.ChargeCategory === 'Usage');
}

function mustBeNull(row: Row, nulls: Nulls): boolean {
  if (typeof nulls === 'object') return row[nulls.as] === '';
  return nulls === 'always' || (nulls === 'unless usage' && row.ChargeCategory !== 'Usage');
}

function determinedFaults(rows: readonly Row[], name: string, other: string): string[] {
  const values = new Map<string, string>();
  return rows.flatMap((row, index) => {
    const [value, determined] = [row[name]!, row[other]!];
    if (value === '') return [];
    const known = values.get(value) ?? determined;
    values.set(value, known);
    return known === determined ? [] : [`${index + 1}: ${other} varies for ${name} ${value}`];
  });
}

/** Whether the cost is the product up to the 15th decimal of the price and of the quantity. */
function isProduct(row: Row, price: string, cost: string): boolean {
  if (row[price] === '') return row[cost] === row.BilledCost;
  const product = Number(row[price]) * Number(row.PricingQuantity);
  return Math.abs(product - Number(row[cost])) <= 1e-12 * Math.max(1, product);
}

function monthAfter(start: string): string {
  const date = new Date(start);
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString().replace('.000Z', 'Z');
}

function isFlatObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return Object.values(value).every((each) => each === null || typeof each !== 'object');
  } catch {
    return false;
  }
}

import { describe, expect, it } from 'vitest';
import { decimal, FOCUS_COLUMNS, type FocusCharge, focusRow } from '../../src/domain/billing/rules/focus.js';

const KINDS = ['GPU', 'DISK', 'VOLUME', 'EARLY_EXIT', 'PREEMPTION_MINIMUM', 'SERVICE_CREDIT', 'ADJUSTMENT'] as const;
const BILL = { accountId: 'acc-1', accountName: 'Lab', operatorName: 'GPU rental', month: 1_793_491_200n };
const INSTANCE = { id: 'i-1', name: 'train', isVolume: false, gpu: 'l4', numGpus: 2, mode: 'INTERRUPTIBLE' } as const;
const VOLUME = { id: 'v-1', name: 'data', isVolume: true, gpu: null, numGpus: null, mode: null } as const;

/** Columns of FOCUS 1.2 that must be present and must not be null in any row. */
const NOT_NULL = `BilledCost BillingAccountId BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory
  ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName ListCost ProviderName PublisherName
  ServiceCategory ServiceName ServiceSubcategory ChargeFrequency`.split(/\s+/);
/** Columns that must be present and may be null, depending on the row. */
const NULLABLE = ['BillingAccountName', 'ChargeClass', 'ChargeDescription', 'PricingQuantity', 'PricingUnit'];
/** Columns that must not be null for usage, and must be null here for the rest, which has no price or quantity. */
const FOR_USAGE = `ConsumedQuantity ConsumedUnit ContractedUnitPrice ListUnitPrice PricingCategory PricingQuantity
  PricingUnit SkuId SkuMeter SkuPriceId`.split(/\s+/);
const ENUMS: Readonly<Record<string, readonly string[]>> = {
  ChargeCategory: ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'],
  ChargeFrequency: ['One-Time', 'Recurring', 'Usage-Based'],
  PricingCategory: ['Standard', 'Dynamic', 'Committed', 'Other'],
  ServiceCategory: ['Compute', 'Storage', 'Other'],
  ServiceSubcategory: ['Containers', 'Block Storage', 'File Storage', 'Other (Other)'],
};

function rowOf(kind: FocusCharge['kind']): Record<string, string | null> {
  const units = kind === 'SERVICE_CREDIT' ? -440_001n : 440_001n * 61n;
  const base = { ...(kind === 'VOLUME' ? VOLUME : INSTANCE), region: 'us-mo', labels: { team: 'ml' } };
  const resource = kind === 'ADJUSTMENT' ? null : base;
  const charge = { kind, day: BILL.month, units, seconds: 61n, rate: 440_001n, resource, note: null };
  const cells = focusRow(charge, BILL);
  return Object.fromEntries(FOCUS_COLUMNS.map((name, index) => [name, cells[index]!]));
}

describe.each(KINDS)('a row for %s', (kind) => {
  const row = rowOf(kind);
  const isUsage = row.ChargeCategory === 'Usage';

  it('has the columns that FOCUS 1.2 requires, with values where it requires them', () => {
    for (const name of [...NOT_NULL, ...NULLABLE]) expect(FOCUS_COLUMNS).toContain(name);
    for (const name of NOT_NULL) expect(row[name], name).toMatch(/./);
    for (const name of FOR_USAGE) expect(row[name] !== null, name).toBe(isUsage);
    for (const name of ['Type', 'Id']) expect(row[`Resource${name}`] !== null).toBe(kind !== 'ADJUSTMENT');
  });

  it('has values of the right form', () => {
    for (const [name, values] of Object.entries(ENUMS)) if (row[name] !== null) expect(values).toContain(row[name]);
    for (const name of FOCUS_COLUMNS.filter((each) => /Cost$|Price$|Quantity$/.test(each)))
      if (row[name] !== null) expect(row[name], name).toMatch(/^-?\d+(\.\d{1,15})?$/);
    for (const name of ['BillingPeriodStart', 'BillingPeriodEnd', 'ChargePeriodStart', 'ChargePeriodEnd'])
      expect(row[name]).toMatch(/^\d{4}-\d\d-\d\dT00:00:00Z$/);
    for (const name of ['Tags', 'SkuPriceDetails'])
      if (row[name] !== null) expect(JSON.parse(row[name]!)).toBeTypeOf('object');
    if (row.ChargeCategory === 'Credit') expect(row.BilledCost).toMatch(/^-/);
  });
});

it('rounds a quotient to the nearest 15th decimal', () => {
  expect(decimal(1n, 3_600_000_000n)).toBe('0.000000000277778');
  expect(decimal(-61n, 3_600n)).toBe('-0.016944444444444');
  expect(decimal(0n, 9n)).toBe('0');
  expect(decimal(-7_200n, 3_600n)).toBe('-2');
});

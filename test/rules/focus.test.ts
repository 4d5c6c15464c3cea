import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { decimal, FOCUS_COLUMNS, type FocusCharge, focusRow } from '../../src/domain/billing/rules/focus.js';
import { focusFaults } from '../support/billing/focus-columns.js';

const BILL = {
  accountId: 'acc-1',
  accountName: 'Lab',
  operatorName: 'GPU rental',
  invoiceId: 'acc-1-2026-11',
  month: 1_793_491_200n,
};
const INSTANCE = { id: 'i-1', name: 'train', isVolume: false, gbRate: 140n, gpu: 'l4', numGpus: 2 } as const;
const VOLUME = { id: 'v-1', name: 'data', isVolume: true, gbRate: 30n, gpu: null, numGpus: null } as const;
const NO_CHARGE = { seconds: null, rate: null, resource: null, refund: null, note: null };

const instance = { ...INSTANCE, mode: 'INTERRUPTIBLE', region: 'us-mo', labels: { team: 'ml' } } as const;
const volume = { ...VOLUME, mode: null, region: null, labels: null };
const used = { day: BILL.month, seconds: 61n, refund: null, note: null };
const CHARGES: readonly FocusCharge[] = [
  { ...used, kind: 'GPU', rate: 440_001n, units: 440_001n * 61n, resource: instance },
  { ...used, kind: 'DISK', rate: 14_000n, units: 14_000n * 61n, resource: instance },
  { ...used, kind: 'VOLUME', rate: 300n, units: 300n * 61n, resource: volume },
  { ...used, kind: 'EARLY_EXIT', rate: 7n, units: 427n, resource: instance },
  { ...used, kind: 'PREEMPTION_MINIMUM', rate: 440_001n, units: 440_001n * 7n, seconds: 7n, resource: instance },
  { ...NO_CHARGE, kind: 'SERVICE_CREDIT', day: BILL.month, units: -427n, resource: instance },
  { ...NO_CHARGE, kind: 'ADJUSTMENT', day: BILL.month, units: 3_600n, note: 'goodwill' },
];

const rowOf = (charge: FocusCharge) => focusRow(charge, BILL);

function cellsOf(charge: FocusCharge): Record<string, string | null> {
  const cells = rowOf(charge);
  return Object.fromEntries(FOCUS_COLUMNS.map((name, index) => [name, cells[index]!]));
}

describe.each(CHARGES)('a row for $kind', (charge) => {
  it('follows the rules of FOCUS 1.2', () =>
    expect(focusFaults(stringify([FOCUS_COLUMNS, rowOf(charge)]))).toEqual([]));
});

it('measures and prices storage per GB', () => {
  expect(cellsOf(CHARGES[1]!)).toMatchObject({
    ConsumedQuantity: '6100.0',
    ConsumedUnit: 'GB-Seconds',
    ListUnitPrice: '0.00014',
    PricingQuantity: '1.694444444444444',
    PricingUnit: 'GB-Hours',
    ChargeDescription: 'Disk at 0.00014 USD per GB-hour',
  });
  expect(cellsOf(CHARGES[2]!)).toMatchObject({ ConsumedQuantity: '610.0', ListUnitPrice: '0.00003' });
});

it('has one SKU for all modes, and one price id for each', () => {
  const resource = { ...instance, mode: 'ON_DEMAND' as const };
  const skuOf = ({ SkuId, SkuPriceId }: Record<string, string | null>) => [SkuId, SkuPriceId];
  expect(skuOf(cellsOf(CHARGES[0]!))).toEqual(['gpu/l4/2', 'gpu/l4/2/interruptible']);
  expect(skuOf(cellsOf({ ...CHARGES[0]!, resource }))).toEqual(['gpu/l4/2', 'gpu/l4/2/on_demand']);
});

it('counts a refund for its service, as a correction if it is for an earlier month', () => {
  const credit = CHARGES[5]!;
  const ofRefund = (refund: FocusCharge['refund']) => {
    const { ChargeClass, ServiceName } = cellsOf({ ...credit, refund });
    return [ChargeClass, ServiceName];
  };
  expect(ofRefund(null)).toEqual([null, 'GPU instances']);
  expect(ofRefund({ resource: 'GPU', isLate: true })).toEqual(['Correction', 'GPU instances']);
  expect(ofRefund({ resource: 'DISK', isLate: false })).toEqual([null, 'Instance disks']);
});

it('rounds a quotient to the nearest 15th decimal', () => {
  expect(decimal(1n, 3_600_000_000n)).toBe('0.000000000277778');
  expect(decimal(-61n, 3_600n)).toBe('-0.016944444444444');
  expect(decimal(0n, 9n)).toBe('0.0');
  expect(decimal(-72_000n, 3_600n)).toBe('-20.0');
});

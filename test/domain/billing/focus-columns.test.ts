import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { focusExport } from '../../../src/domain/billing/focus.js';
import { invoice } from '../../../src/domain/proof/invoice.js';
import { runChargedHistory } from '../../support/billing/charged-history.js';
import { focusFaults } from '../../support/billing/focus-columns.js';
import type { TestDomain } from '../../support/domain.js';
import { monthsOf, openSigningDomain } from '../../support/proofs/history.js';

type Row = Record<string, string>;

let domain: TestDomain;
let accounts: string[];

beforeAll(async () => {
  domain = await openSigningDomain();
  accounts = await runChargedHistory(domain);
});
afterAll(() => domain.close());

const rowsOf = (csv: string): Row[] => parse(csv, { columns: true });

test('each month of each account follows the rules of FOCUS 1.2 for its columns', async () => {
  const categories = new Set<string>();
  const meters = new Set<string>();
  for (const account of accounts)
    for (const month of await monthsOf(domain, account)) {
      const csv = await focusExport(domain, account, month);
      expect(focusFaults(csv), `${account} in ${month}`).toEqual([]);
      for (const { ChargeCategory, ChargeDescription, SkuPriceId } of rowsOf(csv)) {
        categories.add(ChargeCategory!);
        meters.add(SkuPriceId!.split('/').at(-1) || ChargeDescription!.split(':')[0]!);
      }
    }
  expect([...categories].sort()).toEqual(['Adjustment', 'Credit', 'Usage']);
  expect([...meters].sort()).toEqual([
    'Adjustment',
    'Early exit from a reserved term',
    'Minimum GPU time after a preemption',
    'Service credit',
    'disk',
    'interruptible',
    'on_demand',
    'reserved',
    'volume',
  ]);
});

test('a refund of an earlier month is a correction, for the service that it refunds', async () => {
  const rows = rowsOf(await focusExport(domain, accounts[2]!, '2028-01'));
  const credits = rows.filter(({ ChargeCategory }) => ChargeCategory === 'Credit');
  expect(credits.map(({ ChargeClass, ServiceName }) => [ChargeClass, ServiceName])).toEqual([
    ['Correction', 'GPU instances'],
    ['Correction', 'Instance disks'],
    ['', 'GPU instances'],
    ['', 'Instance disks'],
  ]);
  const refunded = credits.map(({ x_Units }) => -Number(x_Units));
  expect(refunded[0]! / refunded[2]!).toBeCloseTo(600 / 90, 9);
});

test('storage has the price per GB of the price sheet, for every size', async () => {
  const csvs = await Promise.all(['2027-10', '2027-11'].map((month) => focusExport(domain, accounts[0]!, month)));
  const stored = csvs.flatMap(rowsOf).filter(({ PricingUnit }) => PricingUnit === 'GB-Hours');
  const { diskRatePerGb, volumeRatePerGb } = domain.settings;
  const prices = { disk: Number(diskRatePerGb) / 1e6, volume: Number(volumeRatePerGb) / 1e6 };
  for (const { SkuPriceId, ListUnitPrice } of stored)
    expect(Number(ListUnitPrice)).toBe(prices[SkuPriceId as keyof typeof prices]);
  const sizes = stored
    .filter(({ SkuId }) => SkuId === 'volume')
    .map(({ PricingQuantity }) => Number(PricingQuantity) / 24);
  expect(new Set(sizes.filter((size) => size === 100 || size === 250)).size).toBe(2);
});

test('each row has the number of its month’s invoice', async () => {
  const { number } = await invoice(domain, accounts[0]!, '2027-11', 5_000);
  const rows = rowsOf(await focusExport(domain, accounts[0]!, '2027-11'));
  expect(new Set(rows.map(({ InvoiceId }) => InvoiceId))).toEqual(new Set([number]));
});

/** Faults to plant in a row of a kind, and the message that must report them. */
const FAULTS: readonly [kind: string, changes: Row, fault: RegExp][] = [
  ['Usage', { BilledCost: '' }, /BilledCost is null/],
  ['Usage', { BilledCost: '+1' }, /BilledCost is \+1/],
  ['Usage', { BilledCost: '1E+2' }, /BilledCost is 1E/],
  ['Usage', { BilledCost: '9.0' }, /EffectiveCost is BilledCost/],
  ['Usage', { ListCost: '9.0' }, /ListCost is ListUnitPrice times/],
  ['Usage', { ContractedCost: '9.0' }, /ContractedCost is ContractedUnitPrice times/],
  ['Usage', { PricingCurrencyListUnitPrice: '9.0' }, /pricing currency/],
  ['Usage', { ListUnitPrice: '-1.0' }, /ListUnitPrice is -1/],
  ['Usage', { ListUnitPrice: '' }, /ListUnitPrice is null/],
  ['Usage', { PricingUnit: '' }, /PricingUnit is null/],
  ['Usage', { PricingUnit: 'hours' }, /PricingUnit is hours/],
  ['Usage', { PricingCategory: 'Spot' }, /PricingCategory is Spot/],
  ['Usage', { BillingCurrency: 'Dollar' }, /BillingCurrency is Dollar/],
  ['Usage', { ChargePeriodStart: '2027-11-01 00:00:00' }, /ChargePeriodStart is 2027/],
  ['Usage', { ChargePeriodEnd: '2027-12-02T00:00:00Z' }, /part of the billing period/],
  ['Usage', { BillingPeriodEnd: '2027-11-30T00:00:00Z' }, /billing period is a month/],
  ['Usage', { ChargeFrequency: 'One-Time' }, /only usage repeats/],
  ['Usage', { ServiceSubcategory: 'Virtual Machine' }, /subcategory is one of/],
  ['Usage', { SkuMeter: '' }, /SkuMeter is null/],
  ['Usage', { SkuPriceDetails: '{"Gpu":"l4"}' }, /begin with x_/],
  ['Usage', { Tags: '{"team":{"name":"ml"}}' }, /Tags is/],
  ['Usage', { Tags: 'team=ml' }, /Tags is/],
  ['Usage', { RegionName: '' }, /RegionName is null/],
  ['Usage', { ResourceId: '' }, /ResourceType is not null/],
  ['Usage', { ResourceName: 'same', ResourceId: 'same' }, /name is not the id/],
  ['Usage', { BillingAccountName: ' ' }, /BillingAccountName is/],
  ['Usage', { CommitmentDiscountId: 'Not Applicable' }, /CommitmentDiscountId is not null/],
  ['Usage', { ChargeClass: 'Correction' }, /only a credit is a correction/],
  ['Credit', { ChargeClass: 'Refund' }, /ChargeClass is Refund/],
  ['Credit', { ListCost: '0.0' }, /ListCost is ListUnitPrice times .* or BilledCost/],
  ['Credit', { ConsumedQuantity: '0' }, /ConsumedQuantity is not null/],
  ['Adjustment', { SkuId: 'other' }, /SkuId is not null/],
  ['Adjustment', { ChargeCategory: 'Fee' }, /ChargeCategory is Fee/],
];

test('each fault planted in an export is found', async () => {
  const csvs = await Promise.all(['2027-10', '2027-11'].map((month) => focusExport(domain, accounts[0]!, month)));
  const rows = csvs.flatMap(rowsOf);
  const header = Object.keys(rows[0]!);
  const faultsOf = (each: readonly Row[], columns = header) =>
    focusFaults(stringify([columns, ...each.map((row) => columns.map((name) => row[name] ?? ''))]));
  const rowOf = (kind: string) => rows.find((row) => row.ChargeCategory === kind && row.SkuMeter !== 'Disk')!;
  for (const [kind, changes, fault] of FAULTS) {
    expect(faultsOf([rowOf(kind)]), kind).toEqual([]);
    expect(faultsOf([{ ...rowOf(kind), ...changes }]).join('\n'), JSON.stringify(changes)).toMatch(fault);
  }
  const usage = rowOf('Usage');
  expect(faultsOf([usage, { ...usage, SkuId: 'gpu/other' }])).toEqual([
    `2: SkuId varies for SkuPriceId ${usage.SkuPriceId}`,
  ]);
  for (const name of header.filter((each) => !each.startsWith('x_')))
    expect(
      faultsOf(
        [usage],
        header.filter((each) => each !== name),
      ),
    ).toEqual([`${name} is missing`]);
  expect(faultsOf([], [...header, 'Team', 'x_Units', 'AvailabilityZone'])).toEqual([
    'Team is unknown',
    'x_Units occurs twice',
    'AvailabilityZone occurs twice',
  ]);
});

import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adjustAccount, creditAccount } from '../../../src/domain/accounts/accounts.js';
import { focusExport } from '../../../src/domain/billing/focus.js';
import { FOCUS_COLUMNS } from '../../../src/domain/billing/rules/focus.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { formatInstant, instantOf } from '../../../src/domain/kernel/time.js';
import { createVolume } from '../../../src/domain/volumes/volumes.js';
import type { TestDomain } from '../../support/domain.js';
import { openSigningDomain } from '../../support/proofs/history.js';

type Row = Record<string, string>;

const UNITS_PER_USD = 3_600_000_000;

let domain: TestDomain;
beforeAll(async () => {
  domain = await openSigningDomain('2027-10-30T22:00:07Z');
});
afterAll(() => domain.close());

async function rowsOf(account: string, month: string): Promise<Row[]> {
  return parse(await focusExport(domain, account, month), { columns: true });
}

const monthNow = () => formatInstant(domain.clock.now()).slice(0, 7);
const unitsOf = (rows: readonly Row[]) => rows.reduce((sum, row) => sum + BigInt(row.x_Units!), 0n);

/** Deploys, stops and adjusts at odd seconds until the month is over. Returns the account. */
async function runMonth(): Promise<string> {
  const account = await domain.account('900');
  const ids: string[] = [];
  for (let step = 0; step < 24; step += 1) {
    if (step % 4 === 0) {
      const machineId = await domain.machine(['rtx-4090', 'l4', 'p4'][step % 3]!);
      const mode = (['RESERVED', 'ON_DEMAND', 'INTERRUPTIBLE'] as const)[(step / 4) % 3]!;
      const launch = { launch: { name: `job-${step}` }, labels: { team: 'ml' } };
      ids.push((await deploy(domain, account, { machineId, mode, diskGb: 7 + step, ...launch })).instance.id);
    }
    const id = ids[Math.floor(Math.random() * ids.length)]!;
    const action = (['STOP', 'START', 'DESTROY'] as const)[Math.floor(Math.random() * 3)]!;
    await act(domain, account, { id, action }).catch(() => {});
    if (step === 5) await adjustAccount(domain, account, { amountMicro: -123_457n, note: '-a "note", twice' });
    if (step === 6) await adjustAccount(domain, account, { amountMicro: 1n, note: '+1' });
    if (step === 7)
      await creditAccount(domain, account, { amountMicro: 7_000_001n, reference: `r-${account}`, note: 'card' });
    if (step === 9)
      await createVolume(domain, { accountId: account, keyId: null }, { name: `data-${step}`, sizeGb: 13 });
    domain.clock.advance(1 + Math.floor(Math.random() * 2 * 86_400));
  }
  return account;
}

test('a month adds up to its statement to the unit, by exact units and by decimals', { timeout: 60_000 }, async () => {
  const account = await runMonth();
  for (const [month, next] of [
    ['2027-10', '2027-11'],
    ['2027-11', '2027-12'],
    ['2027-12', '2028-01'],
  ] as const) {
    const [from, to] = [month, next].map((text) => instantOf(new Date(`${text}-01T00:00:00Z`))) as [bigint, bigint];
    if (from > domain.clock.now()) continue;
    const { lines, movements } = await statement(domain, account, { from, to });
    const adjusted = movements.reduce((sum, { kind, amount }) => (kind === 'CREDIT' ? sum : sum + amount), 0n);
    const due = lines.reduce((sum, { units }) => sum + units, 0n) - adjusted * 3_600n;
    const rows = await rowsOf(account, month);
    expect(unitsOf(rows)).toBe(due);
    for (const { BilledCost, x_Units } of rows)
      expect(Math.round(Number(BilledCost) * UNITS_PER_USD)).toBe(Number(x_Units));
    for (const { ListUnitPrice, PricingQuantity, ListCost } of rows)
      if (ListUnitPrice !== '')
        expect(Number(ListUnitPrice) * Number(PricingQuantity)).toBeCloseTo(Number(ListCost), 12);
    expect(rows.filter(({ ChargeDescription }) => ChargeDescription!.includes('card'))).toEqual([]);
    expect(rows.every(({ ChargePeriodStart }) => ChargePeriodStart!.startsWith(month))).toBe(true);
  }
});

test('splits an interval at the start of a UTC day', async () => {
  const account = await domain.account('900');
  domain.clock.advance(Number(86_400n - (domain.clock.now() % 86_400n)) - 61);
  const { instance } = await deploy(domain, account, {
    machineId: await domain.machine('l4'),
    mode: 'ON_DEMAND',
    diskGb: 9,
  });
  const month = monthNow();
  domain.clock.advance(61 + 39);
  const after = monthNow();
  const rows = [...(await rowsOf(account, month)), ...(after === month ? [] : await rowsOf(account, after))];
  const gpu = rows.filter(({ SkuMeter }) => SkuMeter === 'GPU time');
  expect(gpu.map(({ ConsumedQuantity }) => ConsumedQuantity)).toEqual(['61.0', '39.0']);
  expect(gpu.map(({ ChargePeriodStart }) => ChargePeriodStart)).toEqual([
    gpu[0]!.ChargePeriodStart,
    gpu[0]!.ChargePeriodEnd,
  ]);
  expect(gpu[0]).toMatchObject({ ResourceId: instance.id, ChargeCategory: 'Usage', PricingUnit: 'Hours', Tags: '' });
  expect(rows.filter(({ SkuMeter }) => SkuMeter === 'Disk')).toHaveLength(2);
});

test('a month without usage has only the header', async () => {
  const account = await domain.account('900');
  const month = monthNow();
  expect(await focusExport(domain, account, month)).toBe(`${FOCUS_COLUMNS.join(',')}\n`);
});

test('refuses months that are malformed or in the future', async () => {
  const account = await domain.account('1');
  for (const month of ['2027-13', '1969-12', '2027-1', 'x', '2099-01'])
    await expect(focusExport(domain, account, month)).rejects.toThrow(/month|future/);
});

test('text that a spreadsheet would run is prefixed with an apostrophe', async () => {
  const account = await domain.account('900');
  const month = monthNow();
  await deploy(domain, account, { machineId: await domain.machine('l4'), mode: 'ON_DEMAND', diskGb: 9 });
  domain.clock.advance(2);
  for (const name of ['=1+1', '+1+1', '-1+1', '@x']) {
    await domain.db.prisma.account.update({ where: { id: account }, data: { name } });
    const [row] = await rowsOf(account, month);
    expect(row).toMatchObject({ BillingAccountName: `'${name}`, ProviderName: 'GPU rental' });
  }
});

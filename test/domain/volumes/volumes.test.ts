import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { exportAccount } from '../../../src/domain/accounts/export-account.js';
import { setAccountLimit, setKeyLimit } from '../../../src/domain/accounts/monthly-limits.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { spendByDay } from '../../../src/domain/billing/spend-by-day.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { type SealingKeys, sealingKey } from '../../../src/domain/kernel/sealing.js';
import { MAX_VOLUMES } from '../../../src/domain/kernel/volume.js';
import { resealSecrets } from '../../../src/domain/secrets/reseal.js';
import { volumePassword } from '../../../src/domain/volumes/password.js';
import {
  createVolume,
  deleteVolume,
  findVolume,
  growVolume,
  listVolumes,
} from '../../../src/domain/volumes/volumes.js';
import { TestClock } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { openTestDomain } from '../../support/domain.js';

const KEY = sealingKey(randomBytes(32).toString('hex'));
const DAY = 86_400;

async function open(shared?: Parameters<typeof openTestDomain>[2]) {
  const domain = await openTestDomain({}, undefined, shared);
  return { ...domain, sealingKeys: async (): Promise<SealingKeys> => [KEY] };
}

type Domain = Awaited<ReturnType<typeof open>>;

async function intervalsOf(domain: Domain, volumeId: string) {
  const rows = await domain.db.prisma.volumeInterval.findMany({ where: { volumeId }, orderBy: { ordinal: 'asc' } });
  const second = (date: Date | null) => date?.toISOString().slice(11, 19) ?? null;
  return rows.map(({ sizeGb, rate, startedAt, endedAt }) => [sizeGb, rate, second(startedAt), second(endedAt)]);
}

describe('a volume', () => {
  test('is billed by the second from creation to deletion, at the rate for each size', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('10'), keyId: null };
    domain.clock.advance(0.2);
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 100 });
    expect(volume).toMatchObject({ name: 'work', sizeGb: 100, gbRate: 100n, deletedAt: null });
    expect(volume.id).toMatch(/^v-[0-9a-f]{8}$/);
    domain.clock.advance(10);
    await growVolume(domain, owner, { id: volume.id, sizeGb: 300 });
    domain.clock.advance(10);
    const { volume: deleted } = await deleteVolume(domain, owner, { id: volume.id });
    expect(deleted).toMatchObject({ sizeGb: 300, deleteReason: 'USER', deletedAt: new Date('2026-11-20T12:00:21Z') });
    expect(await intervalsOf(domain, volume.id)).toEqual([
      [100, 10_000n, '12:00:00', '12:00:11'],
      [300, 30_000n, '12:00:11', '12:00:21'],
    ]);
    const entries = await domain.db.prisma.ledgerEntry.findMany({
      where: { kind: 'VOLUME_USAGE' },
      orderBy: { id: 'asc' },
    });
    expect(entries.map(({ id, units }) => [id, units])).toEqual([
      [`${volume.id}/volume/1`, -110_000n],
      [`${volume.id}/volume/2`, -300_000n],
    ]);
    domain.clock.advance(DAY);
    expect(await readBalance(domain, owner.accountId)).toMatchObject({
      balance: 10_000_000n - 113n,
      burnPerHour: 0n,
      diskDeleteAt: null,
    });
    expect((await audit(domain)).findings).toEqual([]);
    expect(await listVolumes(domain, owner.accountId)).toEqual([]);
    expect(await findVolume(domain, owner.accountId, volume.id)).toMatchObject({ id: volume.id });
    await domain.close();
  });

  test('is charged for during the grace period and then deleted, even if settled late', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('2.4'), keyId: null };
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 1_000 });
    const shown = await readBalance(domain, owner.accountId);
    expect(shown).toMatchObject({ burnPerHour: 100_000n, exhaustsAt: domain.clock.now() + BigInt(DAY) });
    expect(shown.diskDeleteAt).toBe(domain.clock.now() + BigInt(8 * DAY));
    domain.clock.advance(2 * DAY);
    expect(await findVolume(domain, owner.accountId, volume.id)).toMatchObject({ deletedAt: null });
    const { id } = volume;
    for (const refused of [
      () => createVolume(domain, owner, { name: 'more', sizeGb: 1 }),
      () => growVolume(domain, owner, { id, sizeGb: 1_001 }),
    ])
      await expect(refused()).rejects.toMatchObject({ code: 'action_failed', reason: 'balance' });
    domain.clock.advance(300 * DAY);
    expect(await findVolume(domain, owner.accountId, volume.id)).toMatchObject({
      deletedAt: new Date('2026-11-28T12:00:00Z'),
      deleteReason: 'BALANCE_EXHAUSTED',
    });
    expect((await readBalance(domain, owner.accountId)).balance).toBe(-16_800_000n);
    expect((await audit(domain)).findings).toEqual([]);
    await domain.close();
  });

  test('is subject to a monthly limit even if the clock is later set back', async () => {
    const domain = await open();
    const accountId = await domain.account('1000');
    const { apiKey } = await createApiKey(domain, accountId);
    domain.clock.advance(3_600);
    await setKeyLimit(domain, { accountId, keyId: null }, { id: apiKey.id, monthlyLimit: 0.02 });
    domain.clock.advance(-3_600);
    const owner = { accountId, keyId: apiKey.id };
    await expect(createVolume(domain, owner, { name: 'one', sizeGb: 9_000 })).resolves.toBeDefined();
    await expect(createVolume(domain, owner, { name: 'two', sizeGb: 9_000 })).rejects.toMatchObject({
      reason: 'spend_limit',
    });
    await domain.close();
  });

  test('counts toward the monthly limits of its account and the key that last resized it', async () => {
    const domain = await open();
    const accountId = await domain.account('1000');
    const [one, other] = await Promise.all([createApiKey(domain, accountId), createApiKey(domain, accountId)]);
    const [oneOwner, otherOwner] = [one, other].map(({ apiKey }) => ({ accountId, keyId: apiKey.id }));
    const setter = { accountId, keyId: null };
    await setKeyLimit(domain, setter, { id: oneOwner!.keyId, monthlyLimit: 0.01 });
    await expect(createVolume(domain, oneOwner!, { name: 'big', sizeGb: 10_000 })).rejects.toMatchObject({
      code: 'action_failed',
      reason: 'spend_limit',
    });
    const { volume } = await createVolume(domain, otherOwner!, { name: 'work', sizeGb: 9_000 });
    // The whole volume would count toward this key's limit, not only the added size.
    await expect(growVolume(domain, oneOwner!, { id: volume.id, sizeGb: 9_001 })).rejects.toMatchObject({
      message: expect.stringContaining("the API key's monthly limit"),
    });
    await setKeyLimit(domain, setter, { id: otherOwner!.keyId, monthlyLimit: 100 });
    domain.clock.advance(3_600);
    await setAccountLimit(domain, setter, 2);
    await expect(growVolume(domain, otherOwner!, { id: volume.id, sizeGb: 10_000 })).resolves.toBeDefined();
    domain.clock.advance(5 * 3_600);
    await readBalance(domain, accountId);
    const key = await domain.db.prisma.keyLimit.findUniqueOrThrow({ where: { id: otherOwner!.keyId } });
    expect(key.burnRate).toBe(1_000_000n);
    // The limit stops instances. Existing volumes remain, and new ones are rejected.
    const account = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } });
    expect(account.limitReachedAt).not.toBeNull();
    expect(await findVolume(domain, accountId, volume.id)).toMatchObject({ deletedAt: null });
    await expect(createVolume(domain, setter, { name: 'more', sizeGb: 1 })).rejects.toMatchObject({
      reason: 'spend_limit',
    });
    expect((await audit(domain)).findings).toEqual([]);
    await domain.close();
  });

  test('has a statement line for each size and is included in the spend by day', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('1000'), keyId: null };
    const from = domain.clock.now();
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 333 });
    domain.clock.advance(DAY + 7);
    await growVolume(domain, owner, { id: volume.id, sizeGb: 1_777 });
    domain.clock.advance(2 * DAY);
    await deleteVolume(domain, owner, { id: volume.id });
    domain.clock.advance(DAY);
    const { lines, openingBalance, closingBalance } = await statement(domain, owner.accountId, { from, to: null });
    expect(
      lines.map(({ instanceId, volumeId, kind, rate, seconds }) => [instanceId, volumeId, kind, rate, seconds]),
    ).toEqual([
      [null, volume.id, 'VOLUME', 33_300n, BigInt(DAY + 7)],
      [null, volume.id, 'VOLUME', 177_700n, BigInt(2 * DAY)],
    ]);
    const charged = lines.reduce((sum, { amount }) => sum + amount, 0n);
    expect([openingBalance, closingBalance]).toEqual([0n, 1_000_000_000n - charged]);
    expect((await readBalance(domain, owner.accountId)).balance).toBe(closingBalance);
    // The period begins in the middle of a size's interval.
    const some = await statement(domain, owner.accountId, { from: from + 100n, to: from + BigInt(DAY) + 8n });
    expect(some.lines.map(({ seconds }) => seconds)).toEqual([BigInt(DAY - 93), 1n]);
    expect(some.openingBalance - some.closingBalance).toBe(some.lines.reduce((sum, { amount }) => sum + amount, 0n));
    const spent = await spendByDay(domain, owner.accountId, { from: '2026-11-20' });
    expect([spent.total, spent.volumes, spent.others, spent.instances]).toEqual([charged, charged, charged, []]);
    expect(spent.days.map(({ total, volumes }) => total === volumes && volumes > 0n)).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    await domain.close();
  });
});

describe('an invalid change to a volume', () => {
  test('is rejected with the reason and has no effect', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('100'), keyId: null };
    const stranger = { accountId: await domain.account('100'), keyId: null };
    for (const [input, message] of [
      [{ name: '', sizeGb: 1 }, 'name must be'],
      [{ name: 'x'.repeat(61), sizeGb: 1 }, 'name must be'],
      [{ name: 'a', sizeGb: 0 }, 'sizeGb must be a whole number from 1 to 10000'],
      [{ name: 'a', sizeGb: 10_001 }, 'sizeGb must be'],
      [{ name: 'a', sizeGb: 1.5 }, 'sizeGb must be'],
    ] as const)
      await expect(createVolume(domain, owner, input)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining(message),
      });
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 10 });
    const { id } = volume;
    await expect(growVolume(domain, owner, { id, sizeGb: 9 })).rejects.toMatchObject({
      code: 'action_failed',
      message: `sizeGb must be at least 10: volume ${id} can't shrink`,
    });
    for (const [who, what] of [
      [stranger, id],
      [owner, 'v-00000000'],
      [owner, 'v-\0'],
    ] as const) {
      await expect(growVolume(domain, who, { id: what, sizeGb: 20 })).rejects.toMatchObject({ code: 'not_found' });
      await expect(deleteVolume(domain, who, { id: what })).rejects.toMatchObject({ code: 'not_found' });
      await expect(volumePassword(domain, who.accountId, what)).rejects.toMatchObject({ code: 'not_found' });
      expect(await findVolume(domain, who.accountId, what)).toBeNull();
    }
    await domain.db.prisma.volume.update({
      where: { id },
      data: { lease: 1n, leaseInstanceId: 'i-00000001', leaseNonce: 'n' },
    });
    await expect(deleteVolume(domain, owner, { id })).rejects.toMatchObject({
      message: `volume ${id} is in use by instance i-00000001`,
    });
    await domain.db.prisma.volume.update({ where: { id }, data: { leaseInstanceId: null, leaseNonce: null } });
    await deleteVolume(domain, owner, { id });
    for (const again of [
      () => deleteVolume(domain, owner, { id }),
      () => growVolume(domain, owner, { id, sizeGb: 20 }),
    ])
      await expect(again()).rejects.toMatchObject({ code: 'action_failed', message: `volume ${id} has been deleted` });
    await expect(volumePassword(domain, owner.accountId, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await domain.db.prisma.volumeInterval.count()).toBe(1);
    expect((await audit(domain)).findings).toEqual([]);
    await domain.close();
  });

  test('is found by the audit if made directly in the database', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('100'), keyId: null };
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 10 });
    domain.clock.advance(60);
    await growVolume(domain, owner, { id: volume.id, sizeGb: 20 });
    const found = async (sql: string) => {
      await domain.db.pool.query(sql, [volume.id]);
      return [...new Set((await audit(domain)).findings.map(({ check }) => check.split(',')[0]))].sort();
    };
    const agree = 'volumes agree with their sizes';
    const charged = 'every past size of a volume is charged once';
    const totals = 'running totals equal ledger and usage';
    expect(await found('update volume set size_gb = 21 where id = $1')).toEqual([agree]);
    expect(await found('update volume set size_gb = 20 where id = $1')).toEqual([]);
    expect(await found('update volume_interval set rate = 1999 where volume_id = $1 and ordinal = 2')).toEqual(
      [totals, agree].sort(),
    );
    await found('update volume_interval set rate = 2000 where volume_id = $1 and ordinal = 2');
    const gap = `started_at = started_at + interval '1 second'`;
    expect(await found(`update volume_interval set ${gap} where volume_id = $1 and ordinal = 2`)).toEqual([agree]);
    expect(
      await found(
        `update volume_interval set ended_at = ended_at + interval '1 second' where volume_id = $1 and ordinal = 1`,
      ),
    ).toEqual([charged]);
    await domain.close();
  });
});

describe('concurrent requests', () => {
  test('to create, grow and delete a volume are processed sequentially', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('100'), keyId: null };
    domain.clock.advance(0.5);
    const input = { name: 'work', sizeGb: 10, idempotencyKey: 'once' };
    const made = await Promise.all(Array.from({ length: 4 }, () => createVolume(domain, owner, input)));
    expect(new Set(made.map(({ volume }) => volume.id)).size).toBe(1);
    expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await expect(createVolume(domain, owner, { ...input, sizeGb: 11 })).rejects.toMatchObject({
      code: 'idempotency_mismatch',
    });
    const { id } = made[0]!.volume;
    const grown = await Promise.allSettled([20, 30, 25].map((sizeGb) => growVolume(domain, owner, { id, sizeGb })));
    expect(grown[1]!.status).toBe('fulfilled');
    expect(await findVolume(domain, owner.accountId, id)).toMatchObject({ sizeGb: 30 });
    domain.clock.advance(5);
    const both = await Promise.allSettled([
      growVolume(domain, owner, { id, sizeGb: 40 }),
      deleteVolume(domain, owner, { id }),
      deleteVolume(domain, owner, { id }),
      growVolume(domain, owner, { id, sizeGb: 50 }),
    ]);
    expect(both.slice(1, 3).filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const sizes = await intervalsOf(domain, id);
    expect(sizes.at(-1)![3]).toBe('12:00:06');
    expect((await audit(domain)).findings).toEqual([]);
    await domain.close();
  });

  test("can't create a 101st volume, even through two gateways", async () => {
    const shared = { url: await createTestDatabase(), clock: new TestClock() };
    const [domain, elsewhere] = await Promise.all([open(shared), open(shared)]);
    const owner = { accountId: await domain.account('100'), keyId: null };
    for (let made = 0; made < MAX_VOLUMES - 1; made += 1)
      await createVolume(domain, owner, { name: `work ${made}`, sizeGb: 1 });
    const last = await Promise.allSettled(
      [domain, elsewhere, domain, elsewhere].map((each) => createVolume(each, owner, { name: 'last', sizeGb: 1 })),
    );
    expect(last.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(last.filter(({ status }) => status === 'rejected')).toMatchObject(
      Array(3).fill({
        reason: { code: 'action_failed', message: 'the account has 100 volumes, the maximum; delete one first' },
      }),
    );
    expect(await listVolumes(domain, owner.accountId)).toHaveLength(MAX_VOLUMES);
    await elsewhere.close();
    await domain.close();
  });
});

describe("a repository's password", () => {
  test('is sealed and can be resealed with a new key', async () => {
    const domain = await open();
    const owner = { accountId: await domain.account('100'), keyId: null };
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 1 });
    const password = await volumePassword(domain, owner.accountId, volume.id);
    expect(password).toMatch(/^[0-9a-f]{64}$/);
    expect(Buffer.from(volume.sealedPassword).toString('latin1')).not.toContain(password);
    const newKey = sealingKey(randomBytes(32).toString('hex'));
    const rotated = { ...domain, sealingKeys: async (): Promise<SealingKeys> => [newKey, KEY] };
    expect(await resealSecrets(rotated)).toBe(1);
    expect(await resealSecrets(rotated)).toBe(0);
    const onlyNew = { ...domain, sealingKeys: async (): Promise<SealingKeys> => [newKey] };
    expect(await volumePassword(onlyNew, owner.accountId, volume.id)).toBe(password);
    // A gateway without the key would seal some passwords with one key and some with another.
    await expect(createVolume(domain, owner, { name: 'more', sizeGb: 1 })).rejects.toMatchObject({
      code: 'action_failed',
    });
    let exported = '';
    await exportAccount(domain, owner.accountId, async (text) => {
      exported += text;
    });
    expect(JSON.parse(exported).volume).toMatchObject([{ id: volume.id, size_gb: 1 }]);
    expect(exported).toContain('"volume_interval":[');
    expect(exported).not.toContain('sealed_password');
    await domain.close();
  });
});

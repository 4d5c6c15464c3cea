import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { creditAccount } from '../../src/domain/accounts/accounts.js';
import { createApiKey } from '../../src/domain/accounts/api-keys.js';
import { setAccountLimit, setKeyLimit } from '../../src/domain/accounts/monthly-limits.js';
import { audit } from '../../src/domain/billing/audit.js';
import { readBalance } from '../../src/domain/billing/balance.js';
import { sealingKey } from '../../src/domain/rules/sealing.js';
import { volumePassword } from '../../src/domain/volumes/password.js';
import { createVolume, deleteVolume, findVolume, growVolume, listVolumes } from '../../src/domain/volumes/volumes.js';
import { openTestDomain } from '../support/domain.js';

const KEY = sealingKey(randomBytes(32).toString('hex'));
const DAY = 86_400;

async function open(settings: Parameters<typeof openTestDomain>[0] = {}) {
  const domain = await openTestDomain(settings);
  return { ...domain, sealingKeys: async () => [KEY] };
}

type Domain = Awaited<ReturnType<typeof open>>;

async function intervalsOf(domain: Domain, volumeId: string) {
  const rows = await domain.db.prisma.volumeInterval.findMany({ where: { volumeId }, orderBy: { ordinal: 'asc' } });
  const second = (date: Date | null) => date && date.toISOString().slice(11, 19);
  return rows.map(({ sizeGb, rate, startedAt, endedAt }) => [sizeGb, rate, second(startedAt), second(endedAt)]);
}

describe('a volume', () => {
  test('is billed by the second from its creation to its deletion, each size at its rate', async () => {
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
});

import { createHash, createPublicKey, verify } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { sealingKey } from '../../../src/domain/kernel/sealing.js';
import { tagged } from '../../../src/domain/proof/rules/canonical.js';
import {
  keysDocument,
  type PublishedKey,
  rotateSigningKey,
  signDocument,
} from '../../../src/domain/proof/signing-keys.js';
import { resealSecrets } from '../../../src/domain/secrets/reseal.js';
import { createSecret } from '../../../src/domain/secrets/secrets.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const KEY = sealingKey('5e'.repeat(32));
const NEW_KEY = sealingKey('6f'.repeat(32));
let domain: TestDomain;

beforeEach(async () => {
  domain = { ...(await openTestDomain()), sealingKeys: async () => [KEY] };
  return () => domain.close();
});

function verifies(key: PublishedKey, tag: string, value: unknown, signature: string): boolean {
  const x = Buffer.from(key.publicKey, 'base64').toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, Buffer.from(tagged(tag, value)), publicKey, Buffer.from(signature, 'base64'));
}

async function keys(): Promise<PublishedKey[]> {
  return (await keysDocument(domain)).keys;
}

function sign(at: string, deps: Pick<TestDomain, 'db' | 'clock' | 'sealingKeys'> = domain) {
  return signDocument(deps, { type: 'gpu-rental/root/v1', at, number: 1 });
}

describe('a signed document', () => {
  test('verifies with the published key, and not after a change', async () => {
    const { signature, ...unsigned } = await sign('2026-11-20T12:00:00Z');
    const [key] = (await keys()) as [PublishedKey];
    expect(key).toEqual({
      id: createHash('sha256').update(Buffer.from(key.publicKey, 'base64')).digest('hex').slice(0, 16),
      algorithm: 'Ed25519',
      publicKey: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      from: '2026-11-20T12:00:00Z',
      until: null,
      previous: null,
      endorsement: null,
    });
    expect(unsigned.key).toBe(key.id);
    expect(verifies(key, 'gpu-rental/root/v1', unsigned, signature)).toBe(true);
    expect(verifies(key, 'gpu-rental/root/v1', { ...unsigned, number: 2 }, signature)).toBe(false);
    expect(verifies(key, 'gpu-rental/statement/v1', unsigned, signature)).toBe(false);
  });

  test('is signed by one key if the first ones are signed concurrently', async () => {
    const signed = await Promise.all(Array.from({ length: 8 }, () => sign('2026-11-20T12:00:00Z')));
    expect(new Set(signed.map(({ key }) => key)).size).toBe(1);
    expect(await keys()).toHaveLength(1);
  });

  test('names the key whose period contains its time', async () => {
    const first = await sign('2026-11-20T12:00:00Z');
    const { id, from } = await rotateSigningKey(domain);
    expect(from).toBe('2026-11-20T12:01:00Z');
    expect(await sign('2026-11-20T12:00:59Z')).toMatchObject({ key: first.key });
    expect(await sign('2026-11-20T12:01:00Z')).toMatchObject({ key: id });
  });

  test('is refused for a time before the first key', async () => {
    await sign('2026-11-20T12:00:00Z');
    await expect(sign('2026-11-20T11:59:59Z')).rejects.toThrow('no signing key existed at 2026-11-20T11:59:59Z');
  });

  test('is refused without a key for sealing', async () => {
    const refusal = new DomainError('action_failed', 'no SECRETS_KEY');
    await expect(sign('2026-11-20T12:00:00Z', { ...domain, sealingKeys: () => Promise.reject(refusal) })).rejects.toBe(
      refusal,
    );
    expect(await keys()).toEqual([]);
  });
});

describe('a rotated key', () => {
  test('is endorsed by the previous one, and follows it without a gap', async () => {
    await sign('2026-11-20T12:00:00Z');
    // Two in the same second, then two concurrently.
    await rotateSigningKey(domain);
    await rotateSigningKey(domain);
    await Promise.all([rotateSigningKey(domain), rotateSigningKey(domain)]);
    const all = await keys();
    expect(all.map(({ from }) => from)).toEqual([
      '2026-11-20T12:00:00Z',
      '2026-11-20T12:01:00Z',
      '2026-11-20T12:01:01Z',
      '2026-11-20T12:01:02Z',
      '2026-11-20T12:01:03Z',
    ]);
    for (const [index, key] of all.entries()) {
      const { from, id, previous, publicKey, endorsement } = key;
      const before = all[index - 1];
      expect(previous).toBe(before?.id ?? null);
      expect(key.until).toBe(all[index + 1]?.from ?? null);
      if (before === undefined) continue;
      expect(verifies(before, 'gpu-rental/key/v1', { from, id, previous, publicKey }, endorsement!)).toBe(true);
    }
  });

  test('is refused if the previous one cannot be opened', async () => {
    await sign('2026-11-20T12:00:00Z');
    await expect(rotateSigningKey({ ...domain, sealingKeys: async () => [NEW_KEY] })).rejects.toMatchObject({
      code: 'action_failed',
    });
    expect(await keys()).toHaveLength(1);
  });
});

describe('a private key', () => {
  test('is sealed in the database, and opens after resealing with the new key only', async () => {
    await sign('2026-11-20T12:00:00Z');
    const before = await sign('2026-11-20T12:00:00Z');
    expect(await resealSecrets({ ...domain, sealingKeys: async () => [NEW_KEY, KEY] })).toBe(1);
    const after = await sign('2026-11-20T12:00:00Z', { ...domain, sealingKeys: async () => [NEW_KEY] });
    expect(after).toEqual(before);
    await expect(sign('2026-11-20T12:00:00Z')).rejects.toThrow('signing key');
  });

  test('belongs to the keys without which no new secret is stored', async () => {
    const account = await domain.account();
    await sign('2026-11-20T12:00:00Z');
    const secret = createSecret({ ...domain, sealingKeys: async () => [NEW_KEY] }, account, { name: 'a', value: 'b' });
    await expect(secret).rejects.toThrow('lacks a key that secrets were sealed with');
  });
});

import { describe, expect, it } from 'vitest';
import {
  type KeyRestrictions,
  keyFaultOf,
  restrictionsOfNewKey,
  UNRESTRICTED,
} from '../../src/domain/accounts/rules/key-restrictions.js';
import type { DomainError } from '../../src/domain/kernel/errors.js';
import { checkScope, mayDo, OPERATION_SCOPES, PUBLIC, SCOPES } from '../../src/domain/kernel/scopes.js';
import { areWithin, holds, networkList, parseNetwork } from '../../src/std/networks.js';

const NOW = 1_000n;
const creator: KeyRestrictions = {
  scopes: ['read', 'keys'],
  expiresAt: NOW + 100n,
  networks: ['10.0.0.0/8', '2001:db8::/32'],
};

function refusalOf(work: () => unknown): DomainError | null {
  try {
    work();
    return null;
  } catch (error) {
    return error as DomainError;
  }
}

describe("an API key's permissions", () => {
  it('end in the second in which the key expires, not after it', () => {
    const key = { ...UNRESTRICTED, expiresAt: NOW };
    expect([NOW - 1n, NOW, NOW + 1n].map((at) => keyFaultOf(key, at, () => true))).toEqual([
      null,
      'expired',
      'expired',
    ]);
    expect(keyFaultOf({ ...UNRESTRICTED, networks: ['10.0.0.0/8'] }, NOW, () => false)).toBe('network');
    expect(keyFaultOf(UNRESTRICTED, NOW, () => false)).toBeNull();
  });

  it("are inherited if omitted, and never exceed the creator's", () => {
    expect(restrictionsOfNewKey(creator, {})).toEqual(creator);
    expect(restrictionsOfNewKey(UNRESTRICTED, {})).toEqual(UNRESTRICTED);
    const less = { scopes: ['read'] as const, expiresAt: NOW + 1n, networks: ['10.1.0.0/16', '2001:db8:1::7'] };
    expect(restrictionsOfNewKey(creator, less)).toEqual(less);
    expect(restrictionsOfNewKey(UNRESTRICTED, less)).toEqual(less);
  });

  it.each<[string, Partial<KeyRestrictions>]>([
    ['scopes', { scopes: ['read', 'rent'] }],
    ['expiresAt', { expiresAt: NOW + 101n }],
    ['networks', { networks: ['10.0.0.0/8', '11.0.0.1'] }],
    ['networks', { networks: ['0.0.0.0/0'] }],
    ['networks', { networks: ['2001:db8::/31'] }],
    ['networks', { networks: ['::ffff:10.0.0.0/104'] }],
  ])('are rejected if they request more %s than the creator has', (field, requested) => {
    const refusal = refusalOf(() => restrictionsOfNewKey(creator, requested));
    expect(refusal).toMatchObject({ code: 'forbidden', field });
  });
});

describe('networks', () => {
  it.each([
    ['203.0.113.7', ['203.0.113.0/24'], true],
    ['203.0.114.7', ['203.0.113.0/24'], false],
    ['::ffff:203.0.113.7', ['203.0.113.0/24'], true],
    ['203.0.113.7', ['203.0.113.7'], true],
    ['2001:db8::1', ['2001:db8::/32'], true],
    ['2001:db9::1', ['2001:db8::/32'], false],
    ['::ffff:cb00:7107', ['203.0.113.0/24'], true],
    ['203.0.113.7', ['::/0'], true],
    ['203.0.113.7', ['::ffff:203.0.113.0/120'], true],
    ['::203.0.113.7', ['203.0.113.0/24'], false],
    ['fe80::1%eth0', ['fe80::/10'], true],
    ['012.0.0.1', ['10.0.0.0/8'], false],
    ['', ['0.0.0.0/0', '::/0'], false],
    ['10.0.0.1', [], false],
  ])('match %s against %j: %s', (address, networks, expected) => {
    expect(holds(networkList(networks), address)).toBe(expected);
  });

  it.each([
    '',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0',
    '::/129',
    'fe80::1%eth0',
    '10.0.0.0/',
    'a.example',
    // ipaddr.js accepts these notations, but Node doesn't.
    '012.0.0.0/8',
    '0xa.0.0.0/8',
    '167772160/8',
  ])("can't be %j", (text) => expect(parseNetwork(text)).toBeNull());

  it('are contained in other networks only if each one is contained in one of them', () => {
    expect(areWithin(['10.0.0.0/9', '10.128.0.1'], ['10.0.0.0/8'])).toBe(true);
    expect(areWithin(['10.0.0.0/7'], ['10.0.0.0/8'])).toBe(false);
    expect(areWithin(['::/0'], ['0.0.0.0/0'])).toBe(false);
    expect(areWithin(['10.0.0.0/8'], ['::/0'])).toBe(false);
  });
});

describe('scopes', () => {
  it('allow only their own operations', () => {
    for (const [operation, scope] of Object.entries(OPERATION_SCOPES)) {
      expect(mayDo(null, operation)).toBe(true);
      for (const given of SCOPES)
        expect(mayDo([given], operation), operation).toBe(scope === PUBLIC || scope === given);
    }
  });

  it('are named in the error if missing', () => {
    const refusal = refusalOf(() => checkScope(['read', 'access'], 'Mutation.deploy'));
    expect(refusal).toMatchObject({ code: 'forbidden', extensions: { status: 403, scope: 'rent' } });
    expect(refusal?.message).toMatch(/lacks the scope rent/);
    expect(() => mayDo(null, 'Mutation.unheardOf')).toThrow(/has no scope/);
  });
});

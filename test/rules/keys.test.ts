import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashHostToken, hashJoinCode } from '../../src/domain/fleet/rules/host-token.js';
import { formatApiKey, hashApiKey } from '../../src/domain/kernel/api-key.js';
import { bearerOf } from '../../src/domain/kernel/bearer.js';
import { clientNetworkOf } from '../../src/domain/kernel/client-network.js';
import { hashWebPass, isWebPass } from '../../src/domain/web-ports/rules/web-pass.js';

const HEX = '0123456789abcdef0123456789abcdef01234567';
const sha256 = (text: string) => createHash('sha256').update(text).digest();

describe.each([
  ['an API key', 'gpu_live_', hashApiKey],
  ['a machine token', 'gpu_host_', hashHostToken],
  ['a join code', 'gpu_join_', hashJoinCode],
])('%s', (_name, prefix, hash) => {
  it('is identified only by its hash', () => {
    expect(hash(prefix + HEX)).toEqual(sha256(prefix + HEX));
  });

  it('is distinguished from any other text', () => {
    const others = [HEX, `gpu_dead_${HEX}`, `x${prefix}${HEX}`, `${prefix}${HEX}0`, `${prefix}${HEX}\n`, prefix];
    for (const other of [
      ...others,
      `${prefix}${HEX.slice(1)}`,
      `${prefix}${HEX.toUpperCase()}`,
      `${prefix}${HEX.slice(1)}g`,
      '',
    ])
      expect(hash(other), other).toBeNull();
  });
});

it('an API key is written with its prefix', () => {
  expect(formatApiKey(Buffer.from(HEX, 'hex'))).toBe(`gpu_live_${HEX}`);
});

it('a pass has 43 characters of base64url', () => {
  const pass = 'Aa0_-'.padEnd(43, 'z');
  expect([isWebPass(pass), hashWebPass(pass)]).toEqual([true, sha256(pass)]);
  for (const other of [
    '',
    pass.slice(1),
    `${pass}z`,
    `${pass}\n`,
    ` ${pass}`,
    `${pass.slice(1)}+`,
    `${pass.slice(1)}=`,
  ])
    expect([isWebPass(other), hashWebPass(other)], other).toEqual([false, null]);
});

it('a bearer token is the text after the scheme', () => {
  expect(['Bearer a', 'bearer  a.b-c', 'BEARER a  '].map(bearerOf)).toEqual(['a', 'a.b-c', 'a']);
  for (const other of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearera',
    'Basic a',
    ' Bearer a',
    'Bearer a b',
    'x Bearer a',
  ])
    expect(bearerOf(other), other).toBeUndefined();
});

describe("a client's network", () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['::1:2:3:4:5:192.0.2.7', '0:1:2:3::/64'],
    ['::192.0.2.7', '0:0:0:0::/64'],
    ['::ffff:192.168.100.200', '192.168.100.200'],
    ['1::3:4:5:6:7:8', '1:0:3:4::/64'],
    ['1:2::5:6:7:8', '1:2:0:0::/64'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
    ['2001:db8:1::3:4:5:6', '2001:db8:1:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8:1:2::ffff:192.0.2.7', '2001:db8:1:2::/64'],
    ['somewhere', 'somewhere'],
    [undefined, 'unknown'],
  ])('for the address %s is %s', (address, network) => {
    expect(clientNetworkOf(address)).toBe(network);
  });
});

import { expect, it } from 'vitest';
import { instanceFields } from '../../src/domain/instances/fields.js';
import { check } from '../../src/domain/kernel/field.js';
import { REGISTRY_HOST } from '../../src/domain/kernel/image-reference.js';

const [HEX_64, HEX_96, HEX_128] = [64, 96, 128].map((digits) => 'a'.repeat(digits)) as [string, string, string];

it.each([
  'pytorch',
  'nginx:1.27',
  'ghcr.io/org/image:tag',
  'localhost:5000/a/b',
  'localhost/a',
  'my-host.example.com:65535/a__b/c-d_e.f',
  '[2001:db8::1]:5000/a',
  'Registry.Example.com/a',
  `a@sha256:${HEX_64}`,
  `a:tag@sha512:${HEX_128}`,
  `a@sha384:${HEX_96}`,
  'a/b--c',
  `a:${'T'.repeat(128)}`,
  'a'.repeat(63),
])('%s is an image reference', (text) => {
  expect(check('template', instanceFields.template, text)).toBe(text);
});

it.each([
  `a@sha256:${HEX_64.slice(1)}`,
  `a@sha256:${HEX_64}a`,
  `a@sha256:${HEX_64.toUpperCase()}`,
  `a@sha512:${HEX_64}`,
  `a@md5:${HEX_64}`,
  'a@sha256:',
  'a..b/c',
  '.a/b',
  'a./b',
  '-a.b/c',
  'a.b-/c',
  'host:99999/a',
  'host:0/a',
  'host:65536/a',
  'host:/a',
  'a___b',
  'a.-b',
  'A',
  'a/B',
  'a/b/',
  'a//b',
  'a:',
  `a:${'t'.repeat(129)}`,
  'a:-t',
  HEX_64,
  `${HEX_64}:tag`,
  '',
  'a b',
])('%j is not an image reference', (text) => {
  expect(() => check('template', instanceFields.template, text)).toThrow('template must be');
});

it('a malicious reference of maximum length is checked quickly', () => {
  const hostile = [`${'a-'.repeat(127)}!`, `${'a.'.repeat(127)}!`, `${'a'.repeat(254)}!`, `${'a/'.repeat(127)}!`];
  const begun = process.cpuUsage();
  for (const text of hostile) expect(() => check('template', instanceFields.template, text)).toThrow();
  expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(100);
});

it.each([
  ['ghcr.io', true],
  ['localhost:5000', true],
  ['a..b', false],
  ['ghcr.io:99999', false],
  ['GHCR.io', false],
])('the registry host %s is valid: %s', (host, isOne) => expect(REGISTRY_HOST.test(host)).toBe(isOne));

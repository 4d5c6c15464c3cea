import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leafHash, nodeHash, tagged, verifySignature } from '../../../src/verify/crypto.js';
import { canonical, type Json, parseJson } from '../../../src/verify/json.js';
import { verify } from '../../../src/verify/verify.js';

const check = (text: string | Uint8Array) =>
  verify([{ name: 'file', content: typeof text === 'string' ? Buffer.from(text) : text }]);

test.each([
  ['', 2, "can't be read: it is empty"],
  ['{"type":"gpu-rental/keys/v1","keys":[', 2, "can't be read: it is truncated"],
  ['{"type":"gpu-rental/keys/v1",}', 2, "can't be read: it isn't JSON at character 30"],
  ['{"type":"\u0001"}', 2, "can't be read: it isn't JSON at character 10"],
  ['['.repeat(100_000), 2, "can't be read: it has more than 16 nested levels"],
  ['{"type":"gpu-rental/other/v1"}', 2, "can't be checked: this type isn't known"],
  ['{"type":"__proto__"}', 2, "can't be checked: this type isn't known"],
  ['[]', 2, "can't be checked: this type isn't known"],
  ['{"type":"gpu-rental/keys/v1","keys":[],"keys":[]}', 1, 'occurs more than once'],
  ['{"type":"gpu-rental/keys/v1","keys":[],"__proto__":{}}', 1, "isn't a member of this document"],
  ['{"type":"gpu-rental/keys/v1"}', 1, 'is missing'],
  ['{"type":"gpu-rental/keys/v1","keys":{}}', 1, 'must be an array; got an object'],
  ...['1.0', '1e3', '-0', '9007199254740992', `1${'0'.repeat(400)}`].map(
    (number) =>
      [
        `{"type":"gpu-rental/consistency/v1","first":${number},"second":1,"path":[]}`,
        1,
        `must be an integer below 2^53; got ${number.slice(0, 60)}${number.length > 60 ? '…' : ''}`,
      ] as const,
  ),
  [
    '{"type":"gpu-rental/consistency/v1","first":"1","second":1,"path":[]}',
    1,
    'must be an integer of at least 0; got "1"',
  ],
  ...[
    [0, 9],
    [9, 9],
  ].map(
    ([first, second]) =>
      [
        `{"type":"gpu-rental/consistency/v1","first":${first},"second":${second},"path":[]}`,
        2,
        "can't be checked: no root of size 9 was given",
      ] as const,
  ),
  ['{"type":"gpu-rental/consistency/v1","first":2,"second":1,"path":[]}', 1, 'is 2, which is more than second: 1'],
  [
    `{"type":"gpu-rental/consistency/v1","first":1,"second":2,"path":["${'A'.repeat(64)}"]}`,
    1,
    'must be 64 lower-case hexadecimal digits; got "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA…',
  ],
] as const)('reports %.60s with code %i', (text, exitCode, what) => {
  const result = check(text);
  expect(result.exitCode).toBe(exitCode);
  expect([...result.faults, ...result.unchecked].map((finding) => finding.what)).toContain(what);
});

test('reports a file that is not UTF-8', () => {
  expect(check(Uint8Array.of(0x22, 0xff, 0x22)).unchecked).toMatchObject([{ what: "can't be read: it isn't UTF-8" }]);
});

test('checks the complete lines of a truncated file', () => {
  const { faults, unchecked } = check('{"type":"gpu-rental/keys/v1"}\n{"type":"gpu-rental/keys/v1","keys":[');
  expect(faults).toMatchObject([{ file: 'file:1', what: 'is missing' }]);
  expect(unchecked).toMatchObject([{ file: 'file:2', what: "can't be read: it is truncated" }]);
});

test('lists a limited number of findings per file', () => {
  const { faults } = check(`{"type":"gpu-rental/keys/v1","keys":[${'0,'.repeat(10_000)}0]}`);
  expect(faults).toHaveLength(101);
});

test('never throws, whatever a file contains', () => {
  const types = fc.constantFrom(
    ...['keys', 'statement', 'root', 'roots', 'inclusion', 'consistency'].map((name) => `gpu-rental/${name}/v1`),
  );
  const document = fc
    .tuple(
      types,
      fc.dictionary(fc.constantFrom('keys', 'roots', 'links', 'open', 'lines', 'first', 'path', 'log'), fc.jsonValue()),
    )
    .map(([type, members]) => JSON.stringify({ ...members, type }));
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), document), (text) => {
      // A list of no keys or roots has no fault.
      if (!/"(keys|roots)":\[\]/.test(text)) expect(check(text).exitCode).toBeGreaterThan(0);
      else check(text);
    }),
    { numRuns: 500 },
  );
});

test('reads back every canonical form', () => {
  const json = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, false),
      fc.maxSafeInteger().map((number) => number || 0),
      fc.string({ unit: 'grapheme' }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  fc.assert(
    fc.property(json, (value) => {
      const { value: read, faults } = parseJson(canonical(value));
      expect(faults).toEqual([]);
      expect(canonical(read)).toBe(canonical(value));
      expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 300 },
  );
});

test('refuses a signature whose equation holds only with the cofactor', () => {
  const { BASE, Fn, Fp } = ed25519.Point;
  const secret = new Uint8Array(32).fill(7);
  const { scalar } = ed25519.utils.getExtendedPublicKey(secret);
  const publicKey = ed25519.getPublicKey(secret);
  const nonce = 12_345n;
  const sign = (point: Uint8Array) => {
    const digest = createHash('sha512').update(point).update(publicKey).update('text').digest('hex');
    const challenge = Fn.create(Buffer.from(digest, 'hex').reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n));
    return Buffer.concat([point, Fn.toBytes(Fn.create(nonce + challenge * scalar))]);
  };
  const ofOrder2 = ed25519.Point.fromAffine({ x: 0n, y: Fp.create(-1n) });
  const point = BASE.multiply(nonce);
  expect(verifySignature(publicKey, 'text', sign(point.toBytes()))).toBe(true);
  expect(verifySignature(publicKey, 'text', sign(point.add(ofOrder2).toBytes()))).toBe(false);
});

test('compares inclusion proofs of one chain without a statement', () => {
  const pseudonym = '5'.repeat(64);
  const leaves = ['a', 'b'].map((digit) => ({ head: digit.repeat(64), number: 5, pseudonym }));
  const [first, second] = leaves.map((leaf) => leafHash(tagged('gpu-rental/leaf/v1', leaf))) as [string, string];
  const proof = (index: number, path: string[], root: string) => ({
    ...{ type: 'gpu-rental/inclusion/v1', ...leaves[index], index, path },
    root: {
      ...{ type: 'gpu-rental/root/v1', number: 1 + index, at: '2026-12-01T00:00:00Z', size: 1 + index, root },
      ...{ previous: index === 0 ? null : 'c'.repeat(64), key: 'd'.repeat(16), signature: `${'A'.repeat(86)}==` },
    },
  });
  const text = [proof(0, [], first), proof(1, [first], nodeHash(first, second))].map((each) => JSON.stringify(each));
  expect(check(text.join('\n')).faults).toContainEqual(
    expect.objectContaining({ check: 'statements', file: 'file:2', where: 'head' }),
  );
});

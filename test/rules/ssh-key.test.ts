import ssh2 from 'ssh2';
import { describe, expect, it } from 'vitest';
import { formatSshKey, parseSshKey } from '../../src/domain/accounts/rules/ssh-key.js';
import { DomainError } from '../../src/domain/kernel/errors.js';

const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIbWDl7yCIpUyWpfP6f3fLUJXGMTi0B+FO0rHVx+WQ2P someone@somewhere';

/** Returns a line with an RSA key whose modulus has `bits` bits. */
function rsa(bits: number): string {
  const digits = ((1n << BigInt(bits - 1)) + 1n).toString(16);
  const modulus = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  const part = (bytes: Buffer) => {
    const padded = bytes[0]! >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(padded.length);
    return Buffer.concat([length, padded]);
  };
  const parts = [Buffer.from('ssh-rsa'), Buffer.from([1, 0, 1]), modulus];
  return `ssh-rsa ${Buffer.concat(parts.map(part)).toString('base64')} renter`;
}

describe('a public SSH key', () => {
  it('is read with its type, comment and fingerprint', () => {
    const key = parseSshKey(`${ED25519}\n`);
    expect(key).toMatchObject({ type: 'ssh-ed25519', comment: 'someone@somewhere' });
    expect(key.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect(formatSshKey(key)).toBe(ED25519);
  });

  it('can be ECDSA, or RSA with at least 3,072 bits', () => {
    for (const [bits, type] of [
      [256, 'ecdsa-sha2-nistp256'],
      [384, 'ecdsa-sha2-nistp384'],
      [521, 'ecdsa-sha2-nistp521'],
    ] as const) {
      const { public: line } = ssh2.utils.generateKeyPairSync('ecdsa', { bits });
      expect(parseSshKey(line)).toMatchObject({ type, comment: '' });
    }
    expect(parseSshKey(rsa(3_072))).toMatchObject({ type: 'ssh-rsa' });
    expect(() => parseSshKey(rsa(3_071))).toThrow(
      'must be an RSA key of at least 3072 bits, or better ed25519; got 3071 bits',
    );
    expect(() => parseSshKey(rsa(2_048))).toThrow('2048 bits');
  });

  it('has a comment that is one short line and safe to print on a terminal', () => {
    const [type, blob] = ED25519.split(' ');
    expect(parseSshKey(`${type} ${blob}`).comment).toBe('');
    expect(parseSshKey(`${type} ${blob} \u001b[31mred ${'x'.repeat(300)}`).comment).toBe(
      `[31mred ${'x'.repeat(300)}`.slice(0, 200),
    );
  });

  it('is rejected if malformed, incomplete, or of an unsupported type', () => {
    const [type, blob] = ED25519.split(' ');
    const refused = [
      '',
      'hello',
      'ssh-ed25519',
      `${type} !!!`,
      `${type} ${blob!.slice(0, 40)}`,
      `${type} ${Buffer.concat([Buffer.from(blob!, 'base64'), Buffer.alloc(4)]).toString('base64')}`,
      `ssh-rsa ${blob}`,
      `ecdsa-sha2-nistp256 ${blob}`,
      `ssh-dss ${blob}`,
      `sk-ssh-ed25519@openssh.com ${blob}`,
      `ssh-ed25519-cert-v01@openssh.com ${blob}`,
      `command="id" ${ED25519}`,
      `${ED25519}\n${ED25519}`,
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----',
    ];
    for (const line of refused) {
      let error: unknown;
      try {
        parseSshKey(line);
      } catch (thrown) {
        error = thrown;
      }
      expect(error, line).toBeInstanceOf(DomainError);
      expect(error).toMatchObject({ code: 'invalid_request', field: 'publicKey' });
    }
    expect(() => parseSshKey(refused.at(-1)!)).toThrow('private key');
  });

  const ED = 'ssh-ed25519';
  const P256 = 'ecdsa-sha2-nistp256';
  const point = (bytes: number, first = 4) => Buffer.concat([Buffer.from([first]), Buffer.alloc(bytes - 1, 7)]);
  const field = (bytes: Buffer | string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, Buffer.from(bytes)]);
  };
  const line = (type: string, ...parts: (Buffer | string)[]) =>
    `${type} ${Buffer.concat(parts.map(field)).toString('base64')}`;
  const raw = (type: string, ...bytes: Buffer[]) => `${type} ${Buffer.concat(bytes).toString('base64')}`;
  const E = Buffer.from([1, 0, 1]);
  const whole = field(ED);

  it('must be complete to the last byte', () => {
    for (const good of [
      line(ED, ED, Buffer.alloc(32)),
      line(P256, P256, 'nistp256', point(65)),
      line('ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp384', 'nistp384', point(97)),
      line('ecdsa-sha2-nistp521', 'ecdsa-sha2-nistp521', 'nistp521', point(133)),
      line('ssh-rsa', 'ssh-rsa', E, Buffer.concat([Buffer.alloc(1), point(2_048, 0x80)])),
    ])
      expect(formatSshKey(parseSshKey(good)), good.slice(0, 40)).toBe(good);
  });

  it.each([
    ['that is not base64', `${ED} *${ED25519.split(' ')[1]}`],
    ['with characters after the base64', `${ED} ${ED25519.split(' ')[1]}*`],
    ['of another type', line(ED, P256, Buffer.alloc(32))],
    ['with only a type', line(ED, ED)],
    ['that is one byte short', line(ED, ED, Buffer.alloc(31))],
    ['that is one byte long', line(ED, ED, Buffer.alloc(33))],
    ['with an extra field', line(ED, ED, Buffer.alloc(32), '')],
    ['followed by half a length', raw(ED, whole, field(Buffer.alloc(32)), Buffer.alloc(3))],
    ['with a length beyond its end', raw(ED, whole, field(Buffer.alloc(32)).fill(255, 0, 4))],
    ['with a length one beyond its end', raw(ED, whole, field(Buffer.alloc(33)).subarray(0, 36))],
    ['of another curve', line(P256, P256, 'nistp384', point(65))],
    ['with a short point', line(P256, P256, 'nistp256', point(64))],
    ['with a compressed point', line(P256, P256, 'nistp256', point(65, 2))],
    ['without its point', line(P256, P256, 'nistp256')],
    ['with two points', line(P256, P256, 'nistp256', point(65), point(65))],
    ['without a modulus', line('ssh-rsa', 'ssh-rsa', E)],
    ['with an empty modulus', line('ssh-rsa', 'ssh-rsa', E, '')],
    ['with a modulus of zero', line('ssh-rsa', 'ssh-rsa', E, Buffer.alloc(1))],
    ['with a negative modulus', line('ssh-rsa', 'ssh-rsa', E, point(512, 0x80))],
    ['with an extra number', line('ssh-rsa', 'ssh-rsa', E, point(512, 0x7f), E)],
    ['with 16,385 bits', line('ssh-rsa', 'ssh-rsa', E, point(2_049, 1))],
  ])('%s is rejected', (_why, text) => {
    expect(() => parseSshKey(text)).toThrow('publicKey is not a complete public key');
  });

  it('is rejected with a message that lists the accepted types', () => {
    const shape = 'publicKey must be one line of a .pub file: TYPE KEY COMMENT';
    for (const text of ['', 'hello', ED, `${ED25519}\n${ED25519}`])
      expect(() => parseSshKey(text), text).toThrow(shape);
    const types = 'ssh-ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, ecdsa-sha2-nistp521, ssh-rsa';
    expect(() => parseSshKey('ssh-dss AAAA')).toThrow(`publicKey must be of the type ${types}`);
  });

  it('can be separated from a visible comment by several spaces or tabs', () => {
    const [type, blob] = ED25519.split(' ');
    expect(parseSshKey(`${type} \t ${blob} \t a b`)).toMatchObject({ type, comment: 'a b' });
    expect(parseSshKey(`${type} ${blob} \u0007 a \u0007`).comment).toBe('a');
    expect(formatSshKey(parseSshKey(`${type} ${blob}`))).toBe(`${type} ${blob}`);
  });
});

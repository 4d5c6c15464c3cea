import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createOwnOrigin } from '../../../src/http/console/own-origin.js';
import { readSessionCookie, sessionCookie } from '../../../src/http/console/session-cookie.js';

const request = (headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
  ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage;

describe('the session cookie', () => {
  const read = (cookie: string, isSecure = true) => readSessionCookie(request({ cookie }), isSecure);

  it('is read by its exact name, which depends on TLS', () => {
    expect(read('__Host-console=abc')).toBe('abc');
    expect(read('a=1;__Host-console=a=b ; console=x')).toBe('a=b');
    expect(read('console=x')).toBeNull();
    expect(read('console=x', false)).toBe('x');
    expect(read('__Host-console=abc', false)).toBeNull();
    expect(read('x__Host-console=abc')).toBeNull();
    expect(readSessionCookie(request({}), true)).toBeNull();
  });

  it('is ignored if sent twice, since one copy must have been planted', () => {
    expect(read('__Host-console=abc; __Host-console=def')).toBeNull();
  });

  it('is set so that neither scripts nor other sites can read it', () => {
    const attributes = 'Path=/; HttpOnly; SameSite=Strict; Max-Age=60';
    expect(sessionCookie('abc', 60n, true)).toBe(`__Host-console=abc; ${attributes}; Secure`);
    expect(sessionCookie('abc', 60n, false)).toBe(`console=abc; ${attributes}`);
  });
});

describe('a same-origin request', () => {
  const proxied = createOwnOrigin('https://gpu.example', (address) => address === '10.0.0.1');

  it.each<[string, boolean, Record<string, string>, string?]>([
    ['the published origin', true, { host: 'gpu.example', origin: 'https://gpu.example' }],
    ['no origin', false, { host: 'gpu.example' }],
    ['the published origin without TLS', false, { host: 'gpu.example', origin: 'http://gpu.example' }],
    ['another site', false, { host: 'gpu.example', origin: 'https://evil.example' }],
    ['a tunnel to this machine', true, { host: 'localhost:8000', origin: 'http://localhost:8000' }],
    ['a tunnel from another port', false, { host: 'localhost:8000', origin: 'http://localhost:8001' }],
    ['a proxy that changes the host', true, { host: 'inner:80', origin: 'https://gpu.example' }],
    [
      'a trusted proxy with TLS',
      true,
      { host: 'other.example', origin: 'https://other.example', 'x-forwarded-proto': 'HTTPS , http' },
      '10.0.0.1',
    ],
    [
      'an untrusted proxy',
      false,
      { host: 'other.example', origin: 'https://other.example', 'x-forwarded-proto': 'https' },
      '10.0.0.2',
    ],
    [
      'the published origin through a trusted proxy without TLS',
      false,
      { host: 'inner', origin: 'https://gpu.example', 'x-forwarded-proto': 'http' },
      '10.0.0.1',
    ],
    ['an invalid host', false, { host: 'a b', origin: 'null' }],
  ])('is recognized with %s: %s', (_name, isOwn, headers, address) => {
    expect(proxied.isOwn(request(headers, address))).toBe(isOwn);
  });

  it('is secure if its proxy says so, otherwise if the gateway is published with TLS', () => {
    expect(proxied.isSecure(request({}))).toBe(true);
    expect(proxied.isSecure(request({ 'x-forwarded-proto': 'http' }, '10.0.0.2'))).toBe(true);
    expect(proxied.isSecure(request({ 'x-forwarded-proto': 'http' }, '10.0.0.1'))).toBe(false);
    expect(createOwnOrigin('http://gpu.example', () => false).isSecure(request({}))).toBe(false);
  });
});

import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  formatSecret,
  isWebhookUrl,
  leadAt,
  mayConnect,
  nextAttemptAt,
  pauseOf,
  retryAfterOf,
  signedHeaders,
} from '../../src/domain/webhooks/rules/webhook.js';

const now = BigInt(Math.floor(Date.now() / 1_000));
const failed = { status: 500, error: null };

describe('a signature', () => {
  it('is accepted by the Standard Webhooks library for every valid secret', () => {
    const [fresh, old, other] = [1, 2, 3].map(() => formatSecret(randomBytes(24))) as [string, string, string];
    const body = JSON.stringify({ type: 'webhook.test', data: { text: 'ä' } });
    const headers = signedHeaders({ id: 'evt-1', at: now, body }, [fresh, old]);
    for (const secret of [fresh, old]) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => new Webhook(other).verify(body, headers)).toThrow();
    expect(() => new Webhook(fresh).verify(`${body} `, headers)).toThrow();
    expect(() => new Webhook(fresh).verify(body, { ...headers, 'webhook-id': 'evt-2' })).toThrow();
  });
});

describe('addresses', () => {
  it.each([
    [
      '127.0.0.1',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
      '255.255.255.255',
    ],
    ['::1', '::', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1'],
    [
      '::ffff:7f00:1',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '64:ff9b:2::7f00:1',
      '::ffff:808:808',
      '2002:7f00:1::',
      '2001:db8::1',
      'localhost',
      '',
    ],
  ])('that are not public are rejected: %s, %s, %s …', (...addresses) => {
    for (const address of addresses) expect(mayConnect(address, []), address).toBe(false);
  });

  it('that are public or listed by the operator are accepted', () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8'])
      expect(mayConnect(address, []), address).toBe(true);
    expect(mayConnect('127.0.0.1', ['127.0.0.0/8'])).toBe(true);
    expect(mayConnect('::ffff:127.0.0.1', ['127.0.0.0/8'])).toBe(true);
    expect(mayConnect('10.0.0.1', ['127.0.0.0/8'])).toBe(false);
  });

  it.each([
    ['https://a.example/x?y=1', true],
    ['http://a.example:8080', true],
    ['ftp://a.example', false],
    ['https://u:p@a.example', false],
    ['https://a.example/#x', false],
    ['file:///etc/passwd', false],
    ['a.example', false],
  ])('%s is a webhook URL: %s', (url, expected) => expect(isWebhookUrl(url)).toBe(expected));
});

describe('an undelivered event', () => {
  it('is retried for three days with increasing delays, then abandoned', () => {
    let at = now;
    const pauses: bigint[] = [];
    for (let attempts = 1; ; attempts += 1) {
      const next = nextAttemptAt(attempts, now, at, failed);
      if (next === null) break;
      pauses.push(next - at);
      at = next;
    }
    expect(pauses[0]).toBe(5n);
    for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(pauses[index - 1] ?? 0n);
    expect(at - now).toBeGreaterThan(2n * 86_400n);
    expect(at - now).toBeLessThanOrEqual(3n * 86_400n);
    expect(pauses.length).toBeLessThan(20);
  });

  it('is not retried for a receiver that is gone', () => {
    expect(nextAttemptAt(1, now, now, { status: 410, error: null })).toBeNull();
  });

  it.each<[number, string | undefined, bigint]>([
    [429, '120', 120n],
    [503, '0', 0n],
    [503, '3601', 3_600n],
    [503, '999999999', 3_600n],
    [503, '9999999999', 0n],
    [503, '-5', 0n],
    [503, '1.5', 0n],
    [503, new Date(Number(now + 90n) * 1_000).toUTCString(), 90n],
    [503, new Date(Number(now - 90n) * 1_000).toUTCString(), 0n],
    [503, 'Fri, 99 Foo 2026 00:00:00 GMT', 0n],
    [503, 'soon', 0n],
    [503, undefined, 0n],
    [200, '120', 0n],
  ])('with status %s and Retry-After %s waits %s s', (status, retryAfter, seconds) => {
    const outcome = { status, error: null, retryAfter };
    expect(retryAfterOf(outcome, now)).toBe(seconds);
    if (status !== 200) expect(nextAttemptAt(1, now, now, outcome)).toBe(now + (seconds > 5n ? seconds : 5n));
  });

  it('is not abandoned because of a Retry-After header', () => {
    const late = now + 3n * 86_400n - 43_200n;
    const outcome = { status: 503, error: null, retryAfter: '3600' };
    expect(nextAttemptAt(20, now, late, outcome)).toBe(now + 3n * 86_400n);
    expect(nextAttemptAt(20, now, late + 1n, outcome)).toBeNull();
  });

  it('pauses deliveries to a failing receiver for at most five minutes', () => {
    expect([0, 1, 2, 20].map(pauseOf)).toEqual([0n, 2n, 4n, 300n]);
  });
});

it('a deadline warning has the shortest lead time that has been reached', () => {
  const before = [3_601n, 3_600n, 601n, 600n, 1n, 0n].map((seconds) => leadAt(now + seconds, now));
  expect(before).toEqual([null, 3_600n, 3_600n, 600n, 600n, null]);
});

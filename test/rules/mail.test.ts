import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../src/domain/kernel/events.js';
import { isLinkToken, isMailAddress, linkToken, mailboxOf, mailOfEvent } from '../../src/domain/webhooks/rules/mail.js';
import { htmlPage, plainText } from '../../src/mail/content.js';

const DATA = {
  instance: 'i-1',
  gpu: 't4',
  machine: 'm-1',
  reason: 'balance_exhausted',
  cause: 'deadline',
  ends_at: '2026-11-23T18:00:00Z',
  seconds_before: 600,
  does: 'stop',
  balance: '1.00',
  below: '5.00',
  usd: '2.50',
  top_up: 'tu-1',
  key: 'key-1',
  network: '203.0.113.0/24',
  webhook: 'wh-1',
};

const SERVICE = { operatorName: 'Acme', publicUrl: 'https://gpu.example.com' };

describe('mail', () => {
  it('describes each event in one sentence and lists its facts', () => {
    const subjects = Object.keys(EVENT_TYPES).map((type) => {
      const event = { id: 'evt-1', type, at: 0n, data: { ...DATA, nothing: null } };
      const { subject, content } = mailOfEvent(event, 'a@example.com', SERVICE, 'https://end');
      const text = plainText(content);
      expect(`${subject}${text}`, type).not.toMatch(/undefined|null|\{|happened/);
      expect(text.startsWith(`${subject}.\n\n  time: 1970-01-01T00:00:00Z\n  instance: i-1\n`), type).toBe(true);
      expect(text, type).toContain(`event: ${type} evt-1`);
      expect(text, type).toContain('Your account at Acme: https://gpu.example.com\n');
      return subject;
    });
    expect(new Set(subjects).size).toBe(subjects.length);
    expect(subjects).toContain('Instance i-1 stopped: balance exhausted');
    expect(subjects).toContain('Instance i-1 stops in ten minutes: its deadline');
  });

  it('has the same content as HTML, in which values are text, and the operator’s name and accent', () => {
    const hostile = '<img src=x onerror="alert(1)">&';
    const event = { id: 'evt-1', type: 'webhook.paused', at: 0n, data: { webhook: 'wh-1', reason: hostile } };
    const { content } = mailOfEvent(event, 'a@example.com', SERVICE, 'https://end?a=1&b="2');
    const page = htmlPage(content, { name: 'Acme <GPUs>', accent: '#0f766e', logo: null });
    expect(page).toContain('border-top:4px solid #0f766e');
    expect(page).toContain('Acme &lt;GPUs&gt;');
    expect(page).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;');
    expect(page).toContain('href="https://end?a=1&amp;b=&quot;2"');
    expect(page).not.toContain('<img');
    expect(htmlPage(content, { name: 'Acme', accent: null, logo: Buffer.from('png') })).toContain('<img src="cid:');
  });

  it('can only be sent to a single plain address', () => {
    const longest = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.eu`;
    for (const good of ['a@b.cd', "o'brien+x@mail.example.com", 'A.B-c_d@xn--bcher-kva.example', longest])
      expect(isMailAddress(good), good).toBe(true);
    for (const bad of [
      '',
      '@b.cd',
      'a@',
      'a@b',
      'a b@c.de',
      'a@b.cd\n',
      'a@b.cd,e@f.gh',
      '"a"@b.cd',
      'a@b@c.de',
      '.a@b.cd',
      'a.@b.cd',
    ])
      expect(isMailAddress(bad), bad).toBe(false);
    expect(isMailAddress('a@-b.cd') || isMailAddress('a@b-.cd') || isMailAddress('a@b..cd')).toBe(false);
    expect(isMailAddress(`${longest}x`)).toBe(false);
  });

  it('treats equivalent addresses as one mailbox', () => {
    const same = ['some.one@example.com', 'SOMEONE+shop@Example.com', 's.o.m.e.o.n.e+a+b@example.com'].map((each) =>
      mailboxOf(each).toString('hex'),
    );
    expect(new Set(same).size).toBe(1);
    expect(mailboxOf('other@example.com').toString('hex')).not.toBe(same[0]);
  });

  it('contains links that are each valid for one action and one address', () => {
    const token = linkToken('secret', 'end', 'ma-1');
    expect(isLinkToken(token, 'secret', 'end', 'ma-1')).toBe(true);
    expect(isLinkToken(token, 'secret', 'confirm', 'ma-1')).toBe(false);
    expect(isLinkToken(token, 'secret', 'end', 'ma-2')).toBe(false);
    expect(isLinkToken(token, 'other', 'end', 'ma-1')).toBe(false);
    expect(isLinkToken('', 'secret', 'end', 'ma-1')).toBe(false);
  });
});

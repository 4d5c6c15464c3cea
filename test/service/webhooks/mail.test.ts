import { createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { mailOfEvent } from '../../../src/domain/webhooks/rules/mail.js';
import { createMailSender } from '../../../src/mail/send.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { linkIn, type ReceivedMail, refusal, startMailServer } from '../../support/webhooks/mail-server.js';
import { startReceiver } from '../../support/webhooks/receiver.js';

const PATIENCE = { timeout: 30_000, interval: 50 };
const SET =
  'mutation ($address: String!, $events: [String!]) { setMailAddress(address: $address, events: $events) { address confirmedAt pausedAt } }';
const SHOW =
  '{ mailAddress { address events confirmedAt pausedAt pauseReason waiting attempts(first: 50) { status error eventType } } }';
const MAIL = {
  to: 'renter@example.com',
  subject: 'Subject',
  content: { lead: 'Text', facts: [], paragraphs: [] },
  id: 'evt-1',
  endUrl: null,
};
const BRAND = { name: 'Acme', accent: null, logo: null };

let here: Service;
let there: Service;
let server: Awaited<ReturnType<typeof startMailServer>>;
/** Handles each mail at the mail server that both gateways use. */
let answer: (mail: ReceivedMail) => unknown = () => {};
let answerAddress: (address: string) => Error | null = () => null;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startMailServer({ onRcptTo: ({ address }, _session, done) => done(answerAddress(address)) }, (mail) =>
    answer(mail),
  );
  const settings = {
    smtpUrl: server.url,
    smtpTls: 'offered' as const,
    mailFrom: 'GPU rental <notices@example.com>',
    secretsKeys: ['ab'.repeat(32)],
    webhookNetworks: ['127.0.0.0/8'],
  };
  here = await startService(settings);
  there = await startService({ ...settings, databaseUrl: here.databaseUrl });
  setClocks(new Date().toISOString());
});
afterEach(async () => {
  answer = () => {};
  answerAddress = () => null;
  setClocks(new Date().toISOString());
  for (const close of closing.splice(0)) await close();
  // The counts of one test must not limit another test.
  await here.sql('delete from mail_question');
});
afterAll(async () => {
  await Promise.all([here.close(), there.close()]);
  await server.close();
});

function setClocks(at: string) {
  for (const { clock } of [here, there]) clock.set(at);
}
function advance(seconds: number) {
  for (const { clock } of [here, there]) clock.advance(seconds);
}
function mailsTo(address: string) {
  return server.received.filter(({ to }) => to.includes(address));
}
async function shown(renter: Renter) {
  const { body } = await renter.graphql(SHOW);
  expect(body.errors).toBeUndefined();
  return body.data.mailAddress;
}
async function nthMail(address: string, number = 1): Promise<ReceivedMail> {
  await expect.poll(() => mailsTo(address).length, PATIENCE).toBe(number);
  return mailsTo(address)[number - 1]!;
}
let count = 0;
/** Returns a renter with a confirmed address. */
async function confirmed(events?: string[]): Promise<{ renter: Renter; address: string }> {
  count += 1;
  const [renter, address] = [await here.renter('50'), `renter${count}@example.com`];
  expect((await renter.graphql(SET, { address, events })).body.errors).toBeUndefined();
  const confirmation = await nthMail(address);
  expect((await fetch(linkIn(confirmation), { method: 'POST' })).status).toBe(200);
  return { renter, address };
}

describe('an email address', () => {
  it('receives notices only after it is confirmed, and in the same order as webhooks', async () => {
    const renter = await here.renter('50');
    const address = 'first@example.com';
    const set = await renter.graphql(SET, { address });
    expect(set.body.data.setMailAddress).toEqual({ address, confirmedAt: null, pausedAt: null });
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1_000_000n });
    const confirmation = await nthMail(address);
    expect(confirmation.headers.subject).toBe('Please confirm this address for notices');
    expect(confirmation.headers.from).toBe('GPU rental <notices@example.com>');
    expect(confirmation.headers['auto-submitted']).toBe('auto-generated');
    expect(confirmation.headers['list-unsubscribe']).toBeUndefined();
    // Opening the link, as mail scanners do, confirms nothing.
    const page = await fetch(linkIn(confirmation));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form method="post">')]);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect((await shown(renter)).confirmedAt).toBeNull();
    expect((await fetch(`${linkIn(confirmation).slice(0, -1)}_`, { method: 'POST' })).status).toBe(404);
    const done = await fetch(linkIn(confirmation), { method: 'POST' });
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('Your address is confirmed')]);
    expect((await shown(renter)).confirmedAt).not.toBeNull();

    const machine = await here.machine();
    const { id } = (await renter.rest('POST', '/instances', { machine_id: machine })).body;
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    await renter.rest('DELETE', `/instances/${id}`);
    await nthMail(address, 4);
    const [, ...notices] = mailsTo(address);
    expect(notices.map(({ headers }) => headers.subject)).toEqual([
      `Instance ${id} is running`,
      `Instance ${id} stopped: user`,
      `Instance ${id} was destroyed: user`,
    ]);
    expect(notices[1]!.text).toContain(`machine: ${machine}`);
    expect(notices[1]!.headers['message-id']).toMatch(/^<evt-[0-9a-f]{24}@example\.com>$/);
    expect(notices[1]!.headers['content-type']).toContain('multipart/alternative');
    await expect.poll(async () => (await shown(renter)).waiting, PATIENCE).toBe(0);
    // Nothing from before the confirmation arrives.
    expect(mailsTo(address)).toHaveLength(4);
  });

  it('can be unsubscribed with one click, reported by webhooks, and confirmed again', async () => {
    const { renter, address } = await confirmed();
    const witness = await startReceiver();
    closing.push(witness.close);
    await renter.graphql('mutation ($url: String!) { createWebhook(url: $url, events: ["mail.paused"]) { secret } }', {
      url: witness.url,
    });
    expect((await renter.graphql('mutation { testMailAddress { address } }')).body.errors).toBeUndefined();
    const test = await nthMail(address, 2);
    expect(test.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
    const url = /^<(\S+)>$/.exec(test.headers['list-unsubscribe']!)![1]!;
    expect(url).toBe(linkIn(test));
    // As RFC 8058 specifies, this is a POST with this body, without a cookie or an earlier request.
    const ended = await fetch(url, { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) });
    expect(ended.status).toBe(200);
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1_000_000n });
    expect(await shown(renter)).toMatchObject({
      confirmedAt: null,
      pauseReason: 'stopped through a link in an email',
      waiting: 0,
    });
    await expect
      .poll(() => witness.received.map(({ type, data }) => [type, data.reason]), PATIENCE)
      .toEqual([['mail.paused', 'stopped through a link in an email']]);
    // The original confirmation link no longer works.
    expect((await fetch(linkIn(mailsTo(address)[0]!), { method: 'POST' })).status).toBe(410);
    expect((await shown(renter)).confirmedAt).toBeNull();
    await renter.graphql(SET, { address });
    const again = await nthMail(address, 3);
    expect((await fetch(linkIn(again), { method: 'POST' })).status).toBe(200);
    expect(await shown(renter)).toMatchObject({
      pausedAt: null,
      attempts: [{ eventType: 'mail.confirm', status: 250 }],
    });
  });

  it('gets a confirmation link, valid for a day or until the address is changed', async () => {
    const renter = await here.renter('50');
    await renter.graphql(SET, { address: 'old@example.com' });
    const first = await nthMail('old@example.com');
    await renter.graphql(SET, { address: 'new@example.com' });
    const second = await nthMail('new@example.com');
    expect((await fetch(linkIn(first), { method: 'POST' })).status).toBe(404);
    advance(86_400);
    const late = await fetch(linkIn(second), { method: 'POST' });
    expect([late.status, await late.text()]).toEqual([410, expect.stringContaining('valid for a day')]);
    expect(await shown(renter)).toMatchObject({ address: 'new@example.com', confirmedAt: null });
    expect((await renter.graphql('mutation { deleteMailAddress }')).body.data.deleteMailAddress).toBe(
      'new@example.com',
    );
    expect(await shown(renter)).toBeNull();
    // Another account's address is not found.
    const other = await here.renter('1');
    expect((await other.graphql('mutation { deleteMailAddress }')).body.errors[0].extensions.code).toBe('not_found');
  });

  it('gets a limited number of confirmation mails per account, mailbox and network', async () => {
    const codeOf = async (renter: Renter, address: string) =>
      (await renter.graphql(SET, { address })).body.errors?.[0].extensions.code ?? null;
    const renters = await Promise.all(Array.from({ length: 4 }, () => here.renter('1')));
    // This is one mailbox, regardless of its spelling and the account.
    const spellings = [
      'some.body@example.com',
      'Somebody@EXAMPLE.com',
      'somebody+x@example.com',
      'so.me.body+y@example.com',
    ];
    const outcomes = [];
    for (const [index, spelling] of spellings.entries()) outcomes.push(await codeOf(renters[index]!, spelling));
    expect(outcomes).toEqual([null, null, null, 'rate_limited']);
    // One account adds many mailboxes concurrently through two gateways.
    const renter = await here.renter('1');
    const elsewhere = there.withKey(renter.key);
    const all = await Promise.all(
      Array.from({ length: 9 }, (_, index) => codeOf(index % 2 === 0 ? renter : elsewhere, `a${index}@example.com`)),
    );
    expect(all.sort()).toEqual(
      [null, null, null, null, null, ...Array.from({ length: 4 }, () => 'rate_limited')].sort(),
    );
    // This network has requested eight so far.
    const more = [];
    for (let index = 0; index < 3; index += 1) more.push(await codeOf(await here.renter('1'), `b${index}@example.com`));
    expect(more).toEqual([null, null, 'rate_limited']);
    advance(86_401);
    expect(await codeOf(await here.renter('1'), 'b9@example.com')).toBeNull();
  });

  it('must be a single plain address, and is refused if there is no mail server', async () => {
    const renter = await here.renter('1');
    for (const address of [
      'nobody',
      '@example.com',
      'a@b',
      'a@example.com, b@example.com',
      'a@example.com\r\nBcc: b@example.com',
      '"a b"@example.com',
      'a@[127.0.0.1]',
      'a@example.com>',
      '<a@example.com>',
      'a\u202e@example.com',
      'ä@example.com',
      'a@exämple.com',
      `${'a'.repeat(65)}@example.com`,
      'a..b@example.com',
    ])
      expect((await renter.graphql(SET, { address })).body.errors?.[0].extensions, address).toMatchObject({
        code: 'invalid_request',
        field: 'address',
      });
    const without = await startService({ databaseUrl: here.databaseUrl, secretsKeys: ['ab'.repeat(32)] });
    closing.push(without.close);
    const refused = await without.withKey(renter.key).graphql(SET, { address: 'a@example.com' });
    expect(refused.body.errors[0].extensions.code).toBe('action_failed');
    expect((await fetch(`${without.address}/mail/end?id=ma-0000000000000000&token=x`, { method: 'POST' })).status).toBe(
      404,
    );
  });

  it('gets retries in order while the server is busy, and is paused if it is rejected', async () => {
    const { renter, address } = await confirmed(['balance.credited', 'instance.running', 'instance.destroyed']);
    answer = () => {
      throw refusal(451, 'busy');
    };
    const { id } = (await renter.rest('POST', '/instances', { machine_id: await here.machine() })).body;
    await renter.rest('DELETE', `/instances/${id}`);
    await expect
      .poll(
        async () => (await shown(renter)).attempts.filter(({ status }: { status: number }) => status === 451).length,
        PATIENCE,
      )
      .toBe(1);
    expect((await shown(renter)).attempts[0].error).toBe("this service's mail server: status 451");
    answer = () => {};
    advance(6);
    await nthMail(address, 3);
    expect(
      mailsTo(address)
        .slice(1)
        .map(({ headers }) => headers.subject),
    ).toEqual([`Instance ${id} is running`, `Instance ${id} was destroyed: user`]);
    // A temporary refusal does not pause the address.
    answerAddress = () => refusal(450, 'try later');
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1n });
    await expect.poll(async () => (await shown(renter)).attempts[0].error, PATIENCE).toMatch(/450 try later/);
    expect((await shown(renter)).pausedAt).toBeNull();
    answerAddress = () => refusal(550, 'no such mailbox');
    advance(40);
    await expect
      .poll(async () => (await shown(renter)).pauseReason, PATIENCE)
      .toMatch(/^its mail server refused it: 550 no such mailbox/);
    expect((await shown(renter)).waiting).toBe(0);
    // If set again, a confirmed address resumes without another confirmation.
    answerAddress = () => null;
    await renter.graphql(SET, { address });
    expect(await shown(renter)).toMatchObject({ pausedAt: null, confirmedAt: expect.any(String) });
  });

  it('does not delay webhooks while its mails are slow to send', async () => {
    const { renter } = await confirmed(['balance.credited']);
    const target = await startReceiver();
    closing.push(target.close);
    await renter.graphql('mutation ($url: String!) { createWebhook(url: $url) { secret } }', { url: target.url });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isHeld = false;
    answer = () => {
      isHeld = true;
      return held;
    };
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1n });
    await expect.poll(() => isHeld && target.types(), PATIENCE).toEqual(['balance.credited']);
    expect((await shown(renter)).waiting).toBe(1);
    release();
    await expect.poll(async () => (await shown(renter)).waiting, PATIENCE).toBe(0);
  });
});

describe('the mail server', () => {
  const states: (string | null)[] = [];
  const sender = (url: string, tls: 'required' | 'offered' = 'offered', withinMs = 20_000) =>
    createMailSender({
      ...{ url, tls, withinMs, brand: BRAND, from: 'notices@example.com' },
      onDelivery: (reason) => states.push(reason),
    });
  const started = async (...args: Parameters<typeof startMailServer>) => {
    const made = await startMailServer(...args);
    closing.push(made.close);
    return made;
  };
  /** Starts a raw TCP server and returns its URL. */
  const listener = async (talk: (socket: Socket) => void): Promise<string> => {
    const sockets = new Set<Socket>();
    const made = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      talk(socket);
    });
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      made.close();
    });
    return `smtp://127.0.0.1:${(made.address() as { port: number }).port}`;
  };

  it('receives the user and password, and is reported only once when it is down', async () => {
    states.length = 0;
    const up = await started({ allowInsecureAuth: true });
    const send = sender(up.url.replace('//', '//renter%40x:p%2Fw@'));
    expect(await send(MAIL)).toEqual({ status: 250, error: null });
    expect(up.received[0]).toMatchObject({ user: 'renter@x', from: 'notices@example.com', to: ['renter@example.com'] });
    const down = sender('smtp://127.0.0.1:1');
    for (let index = 0; index < 2; index += 1)
      expect(await down(MAIL)).toEqual({
        status: null,
        error: "this service's mail server: unreachable",
      });
    expect(states).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });

  it('receives text, HTML and the logo, which loads nothing', async () => {
    const target = await started();
    const brand = { ...BRAND, logo: Buffer.from('89504e470d0a1a0a', 'hex') };
    const send = createMailSender({ url: target.url, tls: 'offered', from: 'a@b.cd', brand, onDelivery: () => {} });
    expect(await send(MAIL)).toEqual({ status: 250, error: null });
    const [{ text, html, attached }] = target.received as [ReceivedMail];
    expect(text).toBe('Text\n');
    expect(html).toMatch(/src="cid:logo@mail".*Acme/);
    expect(html).not.toMatch(/src="http/);
    expect(attached).toEqual(['image/png']);
  });

  it('times out if it never greets or never finishes its greeting', async () => {
    const closed: string[] = [];
    const silent = await listener((socket) => socket.on('close', () => closed.push('silent')));
    const trickling = await listener((socket) => {
      const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write('220-wait\r\n')), 20);
      socket.on('close', () => closed.push('trickling'));
    });
    for (const url of [silent, trickling])
      expect(await sender(url, 'offered', 500)(MAIL)).toEqual({
        status: null,
        error: "this service's mail server: no response within 0.5 s",
      });
    await expect.poll(() => closed.sort(), PATIENCE).toEqual(['silent', 'trickling']);
  });

  it('receives nothing if it lacks required TLS or has an untrusted certificate', async () => {
    const plain = await started();
    expect((await sender(plain.url, 'required')(MAIL)).status).not.toBe(250);
    const unknown = await started({ disabledCommands: [] });
    for (const tls of ['required', 'offered'] as const)
      expect((await sender(unknown.url, tls)(MAIL)).error).toMatch(/unreachable/);
    expect([plain.received, unknown.received]).toEqual([[], []]);
    expect(await sender(plain.url)(MAIL)).toEqual({ status: 250, error: null });
  });

  it('can refuse an address permanently, but anything else only temporarily', async () => {
    const refusing = (responseCode: number, at: 'onConnect' | 'onMailFrom' | 'onRcptTo') =>
      started({
        [at]: (...args: unknown[]) => (args.at(-1) as (error: Error) => void)(refusal(responseCode, 'no thanks')),
      });
    for (const [at, code, expected] of [
      ['onConnect', 421, { status: 421 }],
      ['onMailFrom', 550, { status: 550 }],
      ['onRcptTo', 452, { status: 452, isFinal: false }],
      ['onRcptTo', 550, { status: 550, isFinal: true }],
    ] as const) {
      const attempt = await sender((await refusing(code, at)).url)(MAIL);
      expect(attempt, `${at} ${code}`).toMatchObject(expected);
      if (at !== 'onRcptTo') expect(attempt.isFinal, `${at} ${code}`).toBeUndefined();
    }
    const full = await started({}, () => {
      throw refusal(552, 'too large');
    });
    expect(await sender(full.url)(MAIL)).toEqual({ status: 552, error: "this service's mail server: status 552" });
  });

  it('never receives headers or control characters injected through event values', async () => {
    const target = await started();
    const hostile = 'a\r\nBcc: victim@example.com\r\n\r\nbody\u0085\u2028\u202e\u009b31m\u0000\n.\r\n';
    const data = { webhook: hostile, reason: hostile, [hostile]: hostile };
    const mail = mailOfEvent(
      { id: 'evt-1', type: 'webhook.paused', at: 0n, data },
      MAIL.to,
      { operatorName: 'Acme', publicUrl: 'https://gpu.example.com' },
      'https://gpu.example.com/mail/end?id=1&token=2',
    );
    expect(await sender(target.url)(mail)).toMatchObject({ status: 250 });
    const [{ to, headers, text, raw }] = target.received as [ReceivedMail];
    expect(to).toEqual([MAIL.to]);
    expect(headers.bcc).toBeUndefined();
    expect(raw.split('\r\n\r\n')[0]).not.toMatch(/^Bcc/im);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not appear
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
    expect(text.split('\n').filter((line) => line.startsWith('Bcc'))).toEqual([]);
  });
});

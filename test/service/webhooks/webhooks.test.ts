import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { type SealingKey, sealingKey } from '../../../src/domain/kernel/sealing.js';
import { resealSecrets } from '../../../src/domain/secrets/reseal.js';
import { type SealedRow, secretsOf } from '../../../src/domain/webhooks/webhooks.js';
import { createSender } from '../../../src/webhooks/send.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { startReceiver } from '../../support/webhooks/receiver.js';

const PATIENCE = { timeout: 20_000, interval: 50 };
const CREATE = `mutation ($url: String!, $events: [String!]) { createWebhook(url: $url, events: $events) { secret webhook { id } } }`;
const SHOW =
  '{ webhooks { id pausedAt pauseReason waiting attempts(first: 50) { number status error eventId eventType } } }';

let here: Service;
let there: Service;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  const settings = { webhookNetworks: ['127.0.0.0/8'], secretsKeys: ['ab'.repeat(32)] };
  here = await startService(settings);
  there = await startService({ ...settings, databaseUrl: here.databaseUrl });
  setClocks(new Date().toISOString());
});
afterEach(async () => {
  setClocks(new Date().toISOString());
  for (const close of closing.splice(0)) await close();
});
afterAll(() => Promise.all([here.close(), there.close()]));

function setClocks(at: string) {
  for (const { clock } of [here, there]) clock.set(at);
}
function advance(seconds: number) {
  for (const { clock } of [here, there]) clock.advance(seconds);
}

async function receiver(...args: Parameters<typeof startReceiver>) {
  const started = await startReceiver(...args);
  closing.push(started.close);
  return started;
}

async function hook(renter: Renter, url: string, events?: string[]): Promise<{ id: string; secret: string }> {
  const { createWebhook } = (await renter.graphql(CREATE, { url, events })).body.data;
  return { id: createWebhook.webhook.id, secret: createWebhook.secret };
}

async function shown(renter: Renter) {
  const { body } = await renter.graphql(SHOW);
  expect(body.errors).toBeUndefined();
  return body.data.webhooks;
}

/**
 * Waits for all responses, since a delivery without a recorded response is sent again when time advances past its
 * lease.
 */
async function allSent(renter: Renter) {
  await expect.poll(async () => (await shown(renter))[0].waiting, PATIENCE).toBe(0);
}

describe('webhooks', () => {
  it('report the events they subscribe to, signed and in order per instance', async () => {
    const renter = await here.renter('50');
    const [all, some] = [await receiver(), await receiver()];
    const { secret } = await hook(renter, all.url);
    await hook(renter, some.url, ['instance.destroyed', 'balance.credited']);
    const machine = await here.machine();
    const { id } = (await renter.rest('POST', '/instances', { machine_id: machine })).body;
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' });
    await renter.rest('DELETE', `/instances/${id}`);
    await creditAccount(here.deps, renter.accountId, { amountMicro: 2_500_000n });
    await expect.poll(() => all.received.length, PATIENCE).toBe(5);
    const ofInstance = all.received.filter(({ data }) => data.instance === id).map(({ type }) => type);
    expect(ofInstance).toEqual(['instance.running', 'instance.stopped', 'instance.running', 'instance.destroyed']);
    for (const event of all.received) expect(all.verify(secret, event)).toMatchObject({ type: event.type });
    const stopped = all.received.find(({ type }) => type === 'instance.stopped')!;
    expect(stopped.data).toMatchObject({ instance: id, machine, reason: 'user' });
    expect(all.received.find(({ type }) => type === 'balance.credited')!.data.usd).toBe('2.500000');
    await expect.poll(() => some.types().sort(), PATIENCE).toEqual(['balance.credited', 'instance.destroyed']);
    expect(new Set(all.received.map((event) => event.id)).size).toBe(5);
  });

  it("wait for a receiver's Retry-After, even with events about other subjects", async () => {
    const renter = await here.renter('50');
    const target = await receiver((_event, response) => {
      response.writeHead(429, { 'Retry-After': '120' });
    });
    await hook(renter, target.url);
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1_000_000n });
    await expect.poll(async () => (await shown(renter))[0].attempts.length, PATIENCE).toBe(1);
    await renter.rest('POST', '/instances', { machine_id: await here.machine() });
    const waits = () => here.sql('select wait_until from webhook where account_id = $1', [renter.accountId]);
    await expect.poll(async () => (await waits())[0]!.wait_until, PATIENCE).not.toBeNull();
    const [{ wait_until: until }] = (await waits()) as [{ wait_until: bigint }];
    expect(Number(until) - Number(here.clock.now())).toBeGreaterThan(100);
    expect(target.received).toHaveLength(1);
  });

  it('are retried until accepted, in order per instance, or redelivered manually', async () => {
    const renter = await here.renter('50');
    let isUp = false;
    const target = await receiver((_event, response) => {
      response.statusCode = isUp ? 204 : 500;
    });
    const { id } = await hook(renter, target.url);
    const instance = (await renter.rest('POST', '/instances', { machine_id: await here.machine() })).body.id;
    await renter.rest('DELETE', `/instances/${instance}`);
    await expect.poll(() => target.received.length, PATIENCE).toBe(1);
    // If an attempt were recorded after the clock advances, it would wait from that time.
    await expect.poll(async () => (await shown(renter))[0].attempts.length, PATIENCE).toBe(1);
    const deliveries = async () =>
      (await renter.graphql('{ webhooks { deliveries { eventType subject state tries nextAt } } }')).body.data
        .webhooks[0].deliveries;
    const of = { subject: instance, state: 'PENDING' };
    // The second event waits for the first, regardless of the time.
    expect(await deliveries()).toMatchObject([
      { ...of, eventType: 'instance.destroyed', tries: 0, nextAt: null },
      { ...of, eventType: 'instance.running', tries: 1, nextAt: expect.any(String) },
    ]);
    isUp = true;
    advance(6);
    await expect
      .poll(() => target.types(), PATIENCE)
      .toEqual(['instance.running', 'instance.running', 'instance.destroyed']);
    await expect.poll(async () => (await shown(renter))[0].waiting, PATIENCE).toBe(0);
    expect((await deliveries()).map(({ state }: { state: string }) => state)).toEqual(['DELIVERED', 'DELIVERED']);
    const [{ attempts }] = await shown(renter);
    expect(attempts.map((each: { status: number }) => each.status).sort()).toEqual([204, 204, 500]);
    const again = `mutation { redeliver(id: "${id}", eventId: "${target.received[0]!.id}") { id } }`;
    expect((await renter.graphql(again)).body.data.redeliver.id).toBe(id);
    await expect.poll(() => target.received.length, PATIENCE).toBe(4);
    expect(target.received[3]!.id).toBe(target.received[0]!.id);
    await renter.graphql(`mutation { testWebhook(id: "${id}") { id } }`);
    await expect.poll(() => target.types().at(-1), PATIENCE).toBe('webhook.test');
  });

  it("keep one instance's events in order without delaying another instance's", async () => {
    const renter = await here.renter('50');
    let held = '';
    const target = await receiver(({ type, data }, response) => {
      response.statusCode = type === 'instance.running' && data.instance === held ? 500 : 204;
    });
    await hook(renter, target.url);
    const rent = async () => (await renter.rest('POST', '/instances', { machine_id: await here.machine() })).body.id;
    held = await rent();
    const of = (id: string) => target.received.filter(({ data }) => data.instance === id).map(({ type }) => type);
    await expect.poll(() => of(held), PATIENCE).toContain('instance.running');
    await renter.rest('DELETE', `/instances/${held}`);
    const other = await rent();
    await renter.rest('DELETE', `/instances/${other}`);
    // The receiver accepts other events, so due events are sent immediately.
    advance(3);
    await expect.poll(() => of(other), PATIENCE).toEqual(['instance.running', 'instance.destroyed']);
    await expect.poll(async () => (await shown(renter))[0].waiting, PATIENCE).toBe(2);
    expect(of(held)).not.toContain('instance.destroyed');
    held = '';
    const { instance } = target.received[0]!.data;
    advance(3_600);
    await expect.poll(() => of(instance).at(-1), PATIENCE).toBe('instance.destroyed');
    expect(of(instance).at(-2)).toBe('instance.running');
  });

  it('are paused after three days of failures or on a 410, which the others report', async () => {
    const renter = await here.renter('50');
    const witness = await receiver();
    const gone = await receiver((_event, response) => {
      response.statusCode = 410;
    });
    const broken = await receiver((_event, response) => {
      response.statusCode = 500;
    });
    await hook(renter, witness.url, ['webhook.paused']);
    await hook(renter, gone.url, ['balance.credited']);
    const last = await hook(renter, broken.url, ['balance.credited']);
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1n });
    await expect
      .poll(async () => (await shown(renter)).filter((each: { pausedAt: string }) => each.pausedAt).length, PATIENCE)
      .toBe(1);
    for (let day = 0; day < 8; day += 1) {
      const before = broken.received.length;
      advance(43_201);
      await expect
        .poll(() => broken.received.length > before, PATIENCE)
        .toBe(true)
        .catch(() => {});
      if ((await shown(renter)).find((each: { id: string }) => each.id === last.id).pausedAt !== null) break;
    }
    const webhooks = await shown(renter);
    const reasons = webhooks.map(({ pauseReason }: { pauseReason: string | null }) => String(pauseReason));
    expect(reasons.sort()).toEqual([
      'an event was not accepted for three days',
      'its receiver responded with 410 Gone',
      'null',
    ]);
    // If the clock jumps while an event is in flight, it is sent again under the same id.
    const distinctEvents = () => new Set(witness.received.map(({ id, type }) => `${type} ${id}`)).size;
    await expect.poll(distinctEvents, PATIENCE).toBe(2);
    expect(new Set(witness.types())).toEqual(new Set(['webhook.paused']));
    const resumed = await renter.graphql(
      `mutation { changeWebhook(id: "${last.id}", paused: false) { pausedAt waiting } }`,
    );
    expect(resumed.body.data.changeWebhook).toEqual({ pausedAt: null, waiting: 0 });
    setClocks(new Date().toISOString());
  }, 120_000);

  it("are not delayed by another account's slow receiver", async () => {
    const [slow, quick] = [await receiver(() => 'silent'), await receiver()];
    const [first, second] = [await here.renter('50'), await here.renter('50')];
    await hook(first, slow.url);
    await hook(second, quick.url);
    for (const { accountId } of [first, second]) await creditAccount(here.deps, accountId, { amountMicro: 1n });
    await expect.poll(() => slow.received.length, PATIENCE).toBe(1);
    await expect.poll(() => quick.received.length, PATIENCE).toBe(1);
    expect((await shown(first))[0].attempts).toEqual([]);
    await expect.poll(async () => (await shown(first))[0].attempts[0]?.error, PATIENCE).toBe('no response within 5 s');
  });

  it('have two valid secrets for a day after a rotation and reject invalid input', async () => {
    const renter = await here.renter('50');
    const target = await receiver();
    const { id, secret } = await hook(renter, target.url);
    const rotated = (await renter.graphql(`mutation { rotateWebhookSecret(id: "${id}") { secret } }`)).body.data
      .rotateWebhookSecret;
    await renter.graphql(`mutation { testWebhook(id: "${id}") { id } }`);
    await expect.poll(() => target.received.length, PATIENCE).toBe(1);
    for (const each of [secret, rotated.secret]) expect(() => target.verify(each, target.received[0]!)).not.toThrow();
    const { data } = (await renter.graphql(`mutation { turnWebhookSecret(id: "${id}") { secret } }`)).body;
    expect(data.turnWebhookSecret.secret).toMatch(/^whsec_/);
    await expect
      .poll(async () => {
        const { activity } = (await renter.graphql('{ activity { edges { node { operation } } } }')).body.data;
        return activity.edges.map(({ node }: { node: { operation: string } }) => node.operation);
      }, PATIENCE)
      .toEqual(expect.arrayContaining(['rotateWebhookSecret']));
    for (let number = 2; number <= 11; number += 1) await renter.graphql(CREATE, { url: `${target.url}/${number}` });
    const eleventh = await renter.graphql(CREATE, { url: target.url });
    expect(eleventh.body.errors[0].extensions.code).toBe('action_failed');
    for (const [variables, field] of [
      [{ url: 'ftp://a.example' }, 'url'],
      [{ url: target.url, events: ['nothing.happens'] }, 'events'],
    ] as const)
      expect((await renter.graphql(CREATE, variables)).body.errors[0].extensions).toMatchObject({
        code: 'invalid_request',
        field,
      });
    // Another account's webhook is not found.
    const other = await here.renter('1');
    const foreign = await other.graphql(`mutation { deleteWebhook(id: "${id}") { id } }`);
    expect(foreign.body.errors[0].extensions.code).toBe('not_found');
    const { rows } = await here.deps.db.pool.query('select encode(sealed, $1) as sealed from webhook where id = $2', [
      'escape',
      id,
    ]);
    expect(rows[0].sealed).not.toContain(secret.slice(6, 20));
  });

  it('keep their secret when the sealing key is rotated and the old key is removed', async () => {
    const renter = await here.renter('50');
    const target = await receiver();
    const { id, secret } = await hook(renter, target.url);
    const [old, next] = ['ab', 'ef'].map((byte) => sealingKey(byte.repeat(32))) as [SealingKey, SealingKey];
    const keysOf = (...keys: [SealingKey, ...SealingKey[]]) => ({ ...here.deps, sealingKeys: async () => keys });
    await expect(resealSecrets(keysOf(next))).rejects.toMatchObject({ code: 'action_failed' });
    expect(await resealSecrets(keysOf(next, old))).toBeGreaterThan(0);
    expect(await resealSecrets(keysOf(next, old))).toBe(0);
    const { rows } = await here.deps.db.pool.query<SealedRow>(
      'select id, account_id as "accountId", sealed, key_id as "keyId" from webhook where id = $1',
      [id],
    );
    expect(await secretsOf(keysOf(next), rows[0]!, here.clock.now())).toEqual([secret]);
    // The gateways of this test have only the old key.
    await resealSecrets(keysOf(old, next));
    await renter.graphql(`mutation { testWebhook(id: "${id}") { id } }`);
    await expect.poll(() => target.received.length, PATIENCE).toBe(1);
    expect(() => target.verify(secret, target.received[0]!)).not.toThrow();
  });

  it('report time-dependent events only once, regardless of the number of gateways', async () => {
    const renter = await here.renter('50');
    const target = await receiver();
    await hook(renter, target.url, [
      'instance.ending',
      'instance.stopped',
      'balance.low',
      'balance.ending',
      'balance.exhausted',
    ]);
    const { id } = (await renter.rest('POST', '/instances', { machine_id: await here.machine(), stop_at: '2h' })).body;
    advance(3_599);
    await renter.graphql('mutation { setBalanceNotice(below: 1000) }');
    await expect.poll(() => target.types(), PATIENCE).toEqual(['balance.low']);
    advance(1);
    await expect.poll(() => target.types(), PATIENCE).toEqual(['balance.low', 'instance.ending']);
    expect(target.received[1]!.data).toMatchObject({
      instance: id,
      cause: 'deadline',
      seconds_before: 3_600,
      does: 'stop',
    });
    await allSent(renter);
    advance(3_000);
    await expect.poll(() => target.types().length, PATIENCE).toBe(3);
    expect(target.received[2]!.data.seconds_before).toBe(600);
    await allSent(renter);
    advance(601);
    await expect.poll(() => target.types().at(-1), PATIENCE).toBe('instance.stopped');
    expect(target.received.at(-1)!.data.reason).toBe('deadline');
    expect(target.types()).toHaveLength(4);
    setClocks(new Date().toISOString());
  });

  it("report a key's use from a new network, but not from its first one", async () => {
    const renter = await here.renter('50');
    const target = await receiver();
    await hook(renter, target.url, ['key.new_network']);
    /** Uses the key from these addresses. A gateway records them no later than when it stops. */
    const useFrom = async (...addresses: string[]) => {
      const behind = await startService({ databaseUrl: here.databaseUrl, trustProxy: 1 });
      behind.clock.set(new Date().toISOString());
      const used = behind.withKey(renter.key);
      for (const address of addresses) await used.rest('GET', '/balance', undefined, { 'x-forwarded-for': address });
      await behind.close();
    };
    await useFrom('203.0.113.9');
    await useFrom('203.0.113.200', '198.51.100.7', '198.51.100.8');
    const networks = () => target.received.map(({ data }) => data.network);
    await expect.poll(networks, PATIENCE).toContain('198.51.100.0/24');
    const seen = (network: string) => networks().filter((each) => each === network).length;
    // The gateway that created the webhook may have recorded its own network first.
    expect([seen('198.51.100.0/24'), seen('203.0.113.0/24') <= 1]).toEqual([1, true]);
    expect(target.received.find(({ data }) => data.network === '198.51.100.0/24')!.data).toMatchObject({
      address: expect.stringMatching(/^198\.51\.100\.[78]$/),
      key: expect.stringMatching(/^key-[0-9a-f]{16}$/),
    });
  });

  it("report which limit stops an instance first: its own, its key's or its account's", async () => {
    // The test starts in the middle of a month, regardless of the current date.
    setClocks(`${new Date().toISOString().slice(0, 8)}15T12:00:00Z`);
    const renter = await here.renter('500');
    const target = await receiver();
    await hook(renter, target.url, ['instance.ending', 'instance.stopped']);
    const rent = async (rest: object = {}) =>
      (await renter.rest('POST', '/instances', { machine_id: await here.machine(), disk_gb: 1, ...rest })).body;
    const one = await rent();
    const hourly: number = one.price_hr;
    // Enough for slightly more than two hours of this instance only.
    const own = await rent({ spend_limit: Math.ceil(hourly * 2.5 * 100) / 100 });
    const { rows } = await here.deps.db.pool.query('select id from api_key where account_id = $1', [renter.accountId]);
    // A key with a limit can't set one.
    const owner = here.withKey(
      (await renter.graphql('mutation { createApiKey { secret } }')).body.data.createApiKey.secret,
    );
    const setKey = 'mutation ($id: ID!, $usd: Float) { setApiKeyLimit(id: $id, monthlyLimit: $usd) { id } }';
    const { body } = await renter.graphql(setKey, { id: rows[0].id, usd: Math.ceil(hourly * 8 * 100) / 100 });
    expect(body.errors).toBeUndefined();
    const endings = () =>
      target.received
        .filter(({ type }) => type === 'instance.ending')
        .map(({ data }) => [data.instance, data.cause, data.limit_of, data.seconds_before]);
    // After 1.6 hours, the instance's own limit is less than an hour away, and its key's limit is 2.4 hours away.
    advance(5_760);
    await expect.poll(endings, PATIENCE).toEqual([[own.id, 'limit', 'instance', 3_600]]);
    // The account's limit comes before all others, in a quarter of an hour.
    const setMonthly = 'mutation ($usd: Float) { setMonthlyLimit(monthlyLimit: $usd) { id } }';
    const set = await owner.graphql(setMonthly, { usd: Math.ceil(hourly * 2 * 1.85 * 100) / 100 });
    expect(set.body).toEqual({ data: { setMonthlyLimit: { id: renter.accountId } } });
    await expect.poll(() => endings().length, PATIENCE).toBe(3);
    expect(endings().slice(1).sort()).toEqual([own.id, one.id].sort().map((id) => [id, 'limit', 'account', 3_600]));
    expect(target.received.at(-1)!.data).toMatchObject({ does: 'stop', limit: expect.stringMatching(/^\d+\.\d{6}$/) });
    await allSent(renter);
    advance(3_600);
    await expect.poll(() => target.types().filter((type) => type === 'instance.stopped').length, PATIENCE).toBe(2);
    expect(target.received.at(-1)!.data.reason).toBe('spend_limit');
  });
});

describe('a delivery', () => {
  it('goes only to public addresses, in any notation, and follows no redirects', async () => {
    const target = await receiver((_event, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }));
    const closed = createSender({ allowed: [] });
    for (const host of [
      '127.0.0.1',
      'localhost',
      '0x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      '169.254.169.254',
    ])
      expect((await closed(`http://${host}:${target.port}/`, {}, '{}')).error, host).toMatch(/not a public address/);
    expect(target.received).toEqual([]);
    const open = createSender({ allowed: ['127.0.0.1'] });
    expect(await open(target.url, {}, '{}')).toEqual({ status: 302, error: null });
    expect(target.received).toHaveLength(1);
  });

  it('has its address checked at each connection to prevent DNS rebinding', async () => {
    const target = await receiver();
    const answers = ['127.0.0.1', '10.0.0.1', '127.0.0.1'];
    const lookups: string[] = [];
    const sender = (allowed: string[]) =>
      createSender({
        allowed,
        lookup: (host, _options, done) => {
          lookups.push(host);
          done(null, [{ address: answers[lookups.length - 1]!, family: 4 }]);
        },
      });
    const url = `http://rebinds.example:${target.port}/`;
    expect(await sender(['127.0.0.1'])(url, {}, '{}')).toEqual({ status: 200, error: null });
    expect((await sender(['127.0.0.1'])(url, {}, '{}')).error).toMatch(/not a public/);
    expect((await sender([])(url, {}, '{}')).error).toMatch(/not a public/);
    expect([lookups.length, target.received.length]).toEqual([3, 1]);
  });

  it('waits while two others for its account are in progress, even to other webhooks', async () => {
    const [busy, other] = [await here.renter('50'), await here.renter('50')];
    let [open, maxOpen] = [0, 0];
    const silent = await receiver((_event, response) => {
      open += 1;
      maxOpen = Math.max(maxOpen, open);
      response.once('close', () => {
        open -= 1;
      });
      return 'silent';
    });
    for (let n = 0; n < 6; n += 1) await hook(busy, `${silent.url}/${n}`, ['balance.credited']);
    const prompt = await receiver();
    await hook(other, prompt.url, ['balance.credited']);
    await creditAccount(here.deps, busy.accountId, { amountMicro: 1_000_000n });
    await expect.poll(() => silent.received.length, PATIENCE).toBeGreaterThan(1);
    await creditAccount(here.deps, other.accountId, { amountMicro: 1_000_000n });
    await expect.poll(() => prompt.received.length, PATIENCE).toBe(1);
    // They are served in turn, within five seconds each.
    await expect.poll(() => silent.received.length, PATIENCE).toBeGreaterThan(2);
    expect(maxOpen).toBe(2);
  });

  it('reads at most 64 kB of a response and waits at most 5 s for it', async () => {
    let sent = 0;
    const flood = await receiver((_event, response) => {
      const timer = setInterval(() => {
        if (response.destroyed) return clearInterval(timer);
        for (let each = 0; each < 10; each += 1) if (response.write('x'.repeat(16_000))) sent += 16_000;
      }, 1);
      return 'silent';
    });
    const trickle = await receiver((_event, response) => {
      response.writeHead(200);
      const timer = setInterval(() => (response.destroyed ? clearInterval(timer) : response.write('.')), 100);
      return 'silent';
    });
    const send = createSender({ allowed: ['127.0.0.1'] });
    const startedAtMs = performance.now();
    const [flooded, trickled] = await Promise.all([send(flood.url, {}, '{}'), send(trickle.url, {}, '{}')]);
    expect(flooded).toEqual({ status: 200, error: null });
    expect(trickled).toEqual({ status: null, error: 'no response within 5 s' });
    expect(performance.now() - startedAtMs).toBeLessThan(15_000);
    expect(sent).toBeLessThan(2_000_000);
  });
});

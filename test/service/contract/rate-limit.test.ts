import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../../src/compose/config.js';
import { createRateLimiter } from '../../../src/http/rate-limit/rate-limit.js';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const LIMIT = 12;

let service: Service;

beforeAll(async () => {
  service = await startService({ rateLimitPerMinute: LIMIT });
});
afterAll(() => service.close());

function limits({ headers }: Answer): (number | null)[] {
  return ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map((name) => {
    const value = headers.get(name);
    return value === null ? null : Number(value);
  });
}

function remaining(answer: Answer): number | null {
  return limits(answer)[1]!;
}

/** Uses up `count` requests of the account's limit. */
async function use(renter: Renter, cost: number): Promise<void> {
  const answer = await renter.graphql(`{ ${aliases(cost)} }`);
  expect([answer.status, answer.body.errors]).toEqual([200, undefined]);
}

function aliases(count: number, from = 0): string {
  return Array.from({ length: count }, (_, index) => `a${from + index}: balance { balance }`).join(' ');
}

/** Returns the cost of one more GraphQL request, measured as the difference it makes. */
async function costOf(query: string, variables: Record<string, unknown> = {}): Promise<number> {
  const renter = await service.renter();
  await use(renter, 1);
  const answer = await renter.graphql(query, variables);
  expect(answer.status).toBe(200);
  const after = await renter.rest('GET', '/balance');
  return LIMIT - 2 - remaining(after)!;
}

describe('the rate limit', () => {
  it('is 120 per minute by default', () => {
    expect(readConfig({}).rateLimitPerMinute).toBe(120);
  });

  it('is exact for a burst of 60 requests with two keys over both APIs', async () => {
    const renter = await service.renter();
    const other = await otherKey(renter);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const caller = index % 3 === 0 ? other : renter;
        return index % 2 === 0 ? caller.rest('GET', '/balance') : caller.graphql('{ balance { balance } }');
      }),
    );
    const admitted = answers.filter(({ status }) => status === 200);
    // Creating the other key counted as one request.
    expect(admitted).toHaveLength(LIMIT - 1);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(60 - LIMIT + 1);
    expect(admitted.map(remaining).sort((a, b) => a! - b!)).toEqual(
      Array.from({ length: LIMIT - 1 }, (_, left) => left),
    );
  });

  it('applies per account', async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    await use(first, LIMIT);
    expect((await first.rest('GET', '/balance')).status).toBe(429);
    expect((await second.rest('GET', '/balance')).status).toBe(200);
  });

  it('is shown in every counted response, including refusals', async () => {
    const renter = await service.renter();
    const answers = [
      await renter.rest('GET', '/balance'),
      await renter.rest('GET', '/instances/i-00000000'),
      await renter.rest('POST', '/instances', {}),
      await renter.rest('POST', '/instances', '{'),
      await renter.rest('POST', '/instances', { machine_id: 'm-unknown' }),
      await renter.graphql('{ balance { balance } instances { id } }'),
      await renter.graphql('mutation { deploy(input: { machineId: "m-unknown" }) { id } }'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 422, 400, 409, 200, 200]);
    expect(answers.map(remaining)).toEqual([11, 10, 9, 8, 7, 5, 4]);
    for (const answer of answers) {
      const [limit, , reset] = limits(answer);
      expect(limit).toBe(LIMIT);
      expect(reset).toBeGreaterThanOrEqual(59);
      expect(reset).toBeLessThanOrEqual(60);
    }
  });

  it('refuses requests with 429 rate_limited and Retry-After without counting them', async () => {
    const renter = await service.renter();
    await use(renter, LIMIT);
    for (let turn = 0; turn < 3; turn += 1) {
      const rest = await renter.rest('GET', '/instances');
      const graphql = await renter.graphql('{ instances { id } }');
      for (const answer of [rest, graphql]) {
        expect(answer.status).toBe(429);
        expect(limits(answer).slice(0, 2)).toEqual([LIMIT, 0]);
        const wait = answer.headers.get('retry-after');
        expect(wait).toMatch(/^\d+$/);
        expect(Number(wait)).toBeGreaterThanOrEqual(50);
        expect(Number(wait)).toBeLessThanOrEqual(60);
      }
      const message = `more than ${LIMIT} requests in 60 s; try again in ${rest.headers.get('retry-after')} s`;
      expect(rest.body).toEqual({ error: { code: 'rate_limited', message } });
      expect(graphql.body.data).toBeUndefined();
      expect(graphql.body.errors[0].extensions).toMatchObject({ code: 'rate_limited', status: 429 });
    }
  });

  it("is checked after the key but before the body and the instance's existence", async () => {
    const renter = await service.renter();
    await use(renter, LIMIT);
    expect((await service.anyone.rest('POST', '/instances', '{')).status).toBe(401);
    expect((await renter.rest('POST', '/instances', '{')).status).toBe(429);
    expect((await renter.rest('GET', '/instances/i-00000000')).status).toBe(429);
    expect((await renter.rest('DELETE', '/instances/i-00000000')).status).toBe(429);
    expect((await renter.rest('GET', '/nothing')).status).toBe(404);
    expect((await renter.rest('PUT', '/balance')).status).toBe(405);
  });

  it('allows no part of a refused request to be executed', async () => {
    const renter = await service.renter();
    const machine = await service.machine();
    await use(renter, LIMIT - 1);
    const answer = await renter.graphql(
      'mutation ($id: ID!) { deploy(input: { machineId: $id }) { id } createApiKey { secret } }',
      { id: machine },
    );
    expect(answer.status).toBe(429);
    const rows = await service.sql('select 1 from instance where account_id = $1', [renter.accountId]);
    expect(rows).toEqual([]);
    expect(remaining(await renter.rest('GET', '/balance'))).toBe(0);
  });

  it('admits or refuses each request as a whole', async () => {
    const renter = await service.renter();
    await use(renter, 8);
    const refused = await renter.graphql(`{ ${aliases(5)} }`);
    expect([refused.status, remaining(refused), refused.body.data]).toEqual([429, 4, undefined]);
    const admitted = await renter.graphql(`{ ${aliases(4)} }`);
    expect([admitted.status, remaining(admitted)]).toEqual([200, 0]);
  });

  it('refuses a request that could never pass with a 422 instead of a 429', async () => {
    const renter = await service.renter();
    const answer = await renter.graphql(`{ ${aliases(LIMIT + 1)} }`);
    expect(answer.body.data).toBeUndefined();
    expect(answer.headers.get('retry-after')).toBeNull();
    expect(answer.body.errors[0]).toMatchObject({
      message: `this request counts as ${LIMIT + 1} requests, more than the limit of ${LIMIT} in 60 s`,
      extensions: { code: 'invalid_request', status: 422 },
    });
    await use(renter, LIMIT);
  });

  it("doesn't apply to public routes, even for a key with no requests left", async () => {
    const renter = await service.renter();
    await use(renter, LIMIT);
    for (const path of ['/gpus/pricing', '/offers?limit=1', '/offers?limit=0']) {
      for (const caller of [renter, service.anyone]) {
        const answer = await caller.rest('GET', path);
        expect([answer.status, ...limits(answer)]).toEqual([path.endsWith('=0') ? 422 : 200, null, null, null]);
      }
    }
    const graphql = await renter.graphql('{ pricing { count } regions { code } __schema { queryType { name } } }');
    expect([graphql.status, graphql.body.data.pricing.count]).toEqual([200, 83]);
    expect((await renter.graphql('{ pricing { count } balance { balance } }')).status).toBe(429);
  });
});

describe('the rate limit for GraphQL', () => {
  const FRAGMENTS =
    'fragment Two on Query { x: balance { balance } ...One } fragment One on Query { y: instances { id } }';

  it.each<[string, number, Record<string, unknown>?]>([
    ['{ balance { balance currency monthSpend } }', 1],
    ['{ balance { balance } account { id } instances { id } }', 3],
    ['{ a: balance { balance } b: balance { balance } }', 2],
    ['{ balance { balance } balance { currency } }', 2],
    [`{ ...Two } ${FRAGMENTS}`, 2],
    [`{ ...Two ...One } ${FRAGMENTS}`, 3],
    [`{ ... on Query { balance { balance } ... { account { id } } } }`, 2],
    ['{ pricing { count } offers { gpu } gpuModels { slug } balance { balance } }', 1],
    ['{ pricing { count } __typename }', 0],
    ['{ balance { balance } account @skip(if: true) { id } }', 1],
    ['{ balance { balance } account @include(if: false) { id } }', 1],
    ['{ balance { balance } account @skip(if: false) { id } }', 2],
    [`query ($no: Boolean!) { balance { balance } ...Two @include(if: $no) } ${FRAGMENTS}`, 1, { no: false }],
    [`query ($no: Boolean!) { balance { balance } ...Two @include(if: $no) } ${FRAGMENTS}`, 3, { no: true }],
    ['query ($no: Boolean = true) { balance { balance } account @skip(if: $no) { id } }', 1],
    ['query ($no: Boolean = true) { balance { balance } account @skip(if: $no) { id } }', 2, { no: false }],
    ['mutation { a: createApiKey { secret } b: createApiKey { secret } }', 2],
  ])('counts %s as %d', async (query, cost, variables = {}) => {
    expect(await costOf(query, variables)).toBe(cost);
  });

  it('rejects a request quickly if fragments spread each other too often', async () => {
    const renter = await service.renter();
    const levels = Array.from(
      { length: 60 },
      (_, level) => `fragment F${level} on Query { ...F${level + 1} ...F${level + 1} }`,
    );
    const query = `{ ...F0 } ${levels.join(' ')} fragment F60 on Query { balance { balance } }`;
    const answer = await renter.graphql(query);
    expect(answer.body.errors[0].extensions).toMatchObject({ code: 'invalid_request', status: 422 });
  });

  it('counts only the named operation', async () => {
    const renter = await service.renter();
    const query = `query small { balance { balance } } query large { ${aliases(LIMIT + 5)} }`;
    const answer = await fetch(`${service.address}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${renter.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, operationName: 'small' }),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('ratelimit-remaining')).toBe(String(LIMIT - 1));
  });

  it.each([
    ['after a public operation', '{ pricing { count } }'],
    ['after a small operation', '{ balance { balance } }'],
    ['after a mutation', 'mutation'],
  ])('counts the named operation at any position: %s', async (_name, first) => {
    const renter = await service.renter();
    const before = first === 'mutation' ? 'mutation first { createApiKey { secret } }' : `query first ${first}`;
    const query = `${before} query second { ${aliases(5)} }`;
    const send = (text: string) =>
      fetch(`${service.address}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${renter.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query: text, operationName: 'second' }),
      });
    const answer = await send(query);
    expect([answer.status, answer.headers.get('ratelimit-remaining')]).toEqual([200, String(LIMIT - 5)]);
    expect((await send(query)).headers.get('ratelimit-remaining')).toBe(String(LIMIT - 10));
    expect((await send(query)).status).toBe(429);
    expect(remaining(await renter.rest('GET', '/balance'))).toBe(LIMIT - 11);
  });

  it('counts requests sent by GET', async () => {
    const renter = await service.renter();
    const query = encodeURIComponent(`{ ${aliases(3)} }`);
    const answer = await fetch(`${service.address}/graphql?query=${query}`, {
      headers: { authorization: `Bearer ${renter.key}`, accept: 'application/json' },
    });
    expect(answer.headers.get('ratelimit-remaining')).toBe(String(LIMIT - 3));
  });

  it('counts nothing if GraphQL rejects a request before execution', async () => {
    const renter = await service.renter();
    await renter.graphql('{ balance { nothing } }');
    await renter.graphql('{ balance {');
    await renter.graphql('query ($x: Int!) { balance { balance } }', { x: 'y' });
    expect(remaining(await renter.rest('GET', '/balance'))).toBe(LIMIT - 1);
  });
});

describe('the rate limit based on spend', () => {
  it.each([
    [0, 12],
    [99.999999, 12],
    [100, 24],
    [999.999999, 24],
    [1000, 60],
    [9999.999999, 60],
    [10_000, 120],
  ])('for %d USD of lifetime spend is %d per minute', async (usd, limit) => {
    const renter = await service.renter();
    const units = String(BigInt(Math.round(usd * 1_000_000)) * 3600n);
    await service.sql('update account set spend_units = $2, credit_units = $2 where id = $1', [
      renter.accountId,
      units,
    ]);
    expect(limits(await renter.rest('GET', '/balance')).slice(0, 2)).toEqual([limit, limit - 1]);
    const { body } = await renter.graphql('{ account { limits { requestsPerMinute } } }');
    expect(body.data.account.limits.requestsPerMinute).toBe(limit);
  });

  it('includes the current spend to the second', async () => {
    const renter = await service.renter('1000');
    const machine_id = await service.machine({ gpu: 'b300', numGpus: 8 });
    await renter.rest('POST', '/instances', { machine_id });
    expect(limits(await renter.rest('GET', '/balance'))[0]).toBe(LIMIT);
    service.clock.advance(3 * 3600);
    expect(limits(await renter.rest('GET', '/balance'))[0]).toBe(2 * LIMIT);
  });
});

describe('a disabled rate limit', () => {
  it('admits everything and sends no headers', async () => {
    const open = await startService({ rateLimitPerMinute: 0 });
    const renter = await open.renter();
    const answers = await Promise.all(Array.from({ length: 130 }, () => renter.rest('GET', '/balance')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(limits(answers[0]!)).toEqual([null, null, null]);
    expect((await renter.graphql(`{ ${aliases(200)} }`)).status).toBe(200);
    await open.close();
  });
});

describe("the rate limit's window", () => {
  it('slides, so that each request leaves it 60 s after it was admitted', async () => {
    let now = 1_000_000;
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => now);
    try {
      const limiter = createRateLimiter();
      const admit = async (cost: number) => {
        const { admitted, remaining: left, retryAfterSeconds, resetSeconds } = await limiter.admit('acc', cost, 5);
        return [admitted, left, retryAfterSeconds, resetSeconds];
      };
      expect(await admit(2)).toEqual([true, 3, 0, 60]);
      now += 10_000;
      expect(await admit(3)).toEqual([true, 0, 0, 60]);
      now += 500;
      expect(await admit(1)).toEqual([false, 0, 50, 60]);
      expect(await admit(2)).toEqual([false, 0, 50, 60]);
      expect(await admit(3)).toEqual([false, 0, 60, 60]);
      now += 49_499;
      expect(await admit(1)).toEqual([false, 0, 1, 11]);
      now += 1;
      expect(await admit(1)).toEqual([true, 1, 0, 60]);
      now += 9_999;
      expect(await admit(2)).toEqual([false, 1, 1, 51]);
      now += 1;
      expect(await admit(4)).toEqual([true, 0, 0, 60]);
      now += 60_000;
      expect(await admit(5)).toEqual([true, 0, 0, 60]);
    } finally {
      spy.mockRestore();
    }
  });
});

async function otherKey(renter: Renter): Promise<Renter> {
  const { body } = await renter.graphql('mutation { createApiKey { secret } }');
  return service.withKey(body.data.createApiKey.secret);
}

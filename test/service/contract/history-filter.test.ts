import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_ROWS_SCANNED } from '../../../src/domain/instances/instance-history.js';
import { withoutTimers } from '../../support/background.js';
import type { Renter } from '../../support/gateway.js';
import { rowsTouched } from '../../support/rows-touched.js';
import { type Service, startService } from '../../support/service.js';

/** One more than twice the number of rows searched for a page. */
const COUNT = 2 * MAX_ROWS_SCANNED + 1;
const PAGE = 100;
const BEGUN = Date.parse('2025-01-01T00:00:00Z') / 1_000;
const EVERY = 600;
const GPUS = ['l4', 'rtx-4090', 'h100-sxm'];
const MODES = ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'];
const REASONS = ['USER', 'PREEMPTED', 'BALANCE_EXHAUSTED', 'OPERATOR', 'START_FAILED'];

interface Past {
  sequence: number;
  gpu: string;
  mode: string;
  status: string;
  stopReason: string | null;
  createdAt: number;
}

/** Returns the k-th instance. Only the oldest has the model a40. */
function pastOf(k: number): Past {
  return {
    sequence: k,
    gpu: k === 1 ? 'a40' : GPUS[k % 3]!,
    mode: MODES[Math.floor(k / 3) % 3]!,
    status: 'DESTROYED',
    stopReason: REASONS[k % 5]!,
    createdAt: BEGUN + k * EVERY,
  };
}

const HISTORY = `query ($filter: InstanceFilterInput, $first: Int, $last: Int, $after: String, $before: String) {
  instanceHistory(filter: $filter, first: $first, last: $last, after: $after, before: $before) {
    edges { cursor node { id gpu mode status stopReason createdAt machine { id } } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

withoutTimers();
let service: Service;
let renter: Renter;
/** Instances, newest first. */
let all: Past[];

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
  const machine = await service.machine();
  const list = (values: string[]) => `(array['${values.join("','")}'])`;
  await service.sql(
    `insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode,
       gpu_rate, disk_rate, on_demand_rate, created_at, stopped_at, destroyed_at, stop_reason, gpu_seconds)
     select 'i-' || lpad(to_hex(k), 8, '0'), $1, k, $2, 'DESTROYED', case when k = 1 then 'a40' else ${list(GPUS)}[k % 3 + 1] end,
       1, 'us-tx', 'pytorch', 10, ${list(MODES)}[k / 3 % 3 + 1]::pricing_mode, 1000, 10, 1000, at, at + interval '60 s',
       at + interval '60 s', ${list(REASONS)}[k % 5 + 1]::stop_reason, 60
     from generate_series(1, $3::int) k, lateral (select to_timestamp($4::bigint + k * ${EVERY}) as at) as begun`,
    [renter.accountId, machine, COUNT, BEGUN],
  );
  await service.sql('update account set deployed_instances = $2 where id = $1', [renter.accountId, COUNT]);
  await service.sql('analyze instance');
  all = Array.from({ length: COUNT }, (_, index) => pastOf(COUNT - index));
});
afterAll(() => service?.close());

async function page(filter: object | null, range: object = { first: PAGE }, by = renter) {
  const { body } = await by.graphql(HISTORY, { filter, ...range });
  expect(body.errors).toBeUndefined();
  const { edges, pageInfo } = body.data.instanceHistory;
  return { ids: edges.map(({ node }: { node: { id: string } }) => node.id) as string[], edges, pageInfo };
}

const idOf = ({ sequence }: Past) => `i-${sequence.toString(16).padStart(8, '0')}`;
const instant = (seconds: number) => new Date(seconds * 1_000).toISOString();

const CASES: [name: string, filter: object, fits: (past: Past) => boolean][] = [
  ['a model', { gpus: ['l4'] }, ({ gpu }) => gpu === 'l4'],
  ['one of two models', { gpus: ['l4', 'h100-sxm'] }, ({ gpu }) => gpu !== 'rtx-4090' && gpu !== 'a40'],
  ['a mode', { modes: ['RESERVED'] }, ({ mode }) => mode === 'RESERVED'],
  [
    'a stop reason',
    { stopReasons: ['PREEMPTED', 'OPERATOR'] },
    ({ stopReason }) => /PREEMPTED|OPERATOR/.test(stopReason!),
  ],
  ['a state', { statuses: ['DESTROYED'] }, () => true],
  [
    'a time',
    { createdFrom: instant(BEGUN + 300 * EVERY), createdTo: instant(BEGUN + 500 * EVERY) },
    ({ sequence }) => sequence >= 300 && sequence < 500,
  ],
  [
    'several criteria',
    { gpus: ['rtx-4090'], modes: ['ON_DEMAND'], stopReasons: ['USER'], createdTo: instant(BEGUN + 19_000 * EVERY) },
    ({ gpu, mode, stopReason, sequence }) =>
      gpu === 'rtx-4090' && mode === 'ON_DEMAND' && stopReason === 'USER' && sequence < 19_000,
  ],
  ['nothing', { gpus: [], modes: null, statuses: [], stopReasons: null, createdFrom: null }, () => true],
];

it.each(CASES)('a filter finds matches from either end: %s', async (_name, filter, fits) => {
  const expected = all.filter(fits).map(idOf);
  const seen: string[] = [];
  for (let after: string | null = null; seen.length < 3 * PAGE; ) {
    const { ids, pageInfo } = await page(filter, { first: PAGE, after });
    seen.push(...ids);
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  expect(seen).toEqual(expected.slice(0, seen.length));
  expect(seen).toHaveLength(Math.min(expected.length, 3 * PAGE));

  const fromEnd: string[] = [];
  for (let before: string | null = null; fromEnd.length < 2 * PAGE; ) {
    const { ids, pageInfo } = await page(filter, { last: PAGE, before });
    fromEnd.unshift(...ids);
    if (!pageInfo.hasPreviousPage) break;
    before = pageInfo.startCursor;
  }
  expect(fromEnd).toEqual(expected.slice(-fromEnd.length));
  expect(fromEnd).toHaveLength(Math.min(expected.length, 2 * PAGE));
});

describe('a rare match', () => {
  it('is found after several pages, each of which searches a limited number of rows', async () => {
    const filter = { gpus: ['a40'] };
    const first = await page(filter);
    expect(first.ids).toEqual([]);
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, endCursor: expect.any(String) });
    const second = await page(filter, { first: PAGE, after: first.pageInfo.endCursor });
    expect([second.ids, second.pageInfo.hasNextPage]).toEqual([[], true]);
    const third = await page(filter, { first: PAGE, after: second.pageInfo.endCursor });
    expect([third.ids, third.pageInfo.hasNextPage]).toEqual([['i-00000001'], false]);
    // From the end, it is the first match.
    expect((await page(filter, { last: 1 })).ids).toEqual(['i-00000001']);
    const backwards = await page({ gpus: ['p4'] }, { last: PAGE });
    expect(backwards.pageInfo).toMatchObject({ hasPreviousPage: true, startCursor: expect.any(String) });
  });

  it('requires reading no more rows than the search limit allows', async () => {
    // Query plans depend on statistics, which the database would otherwise collect only some time later.
    await service.sql('vacuum analyze instance');
    const touchedBy = (filter: object | null) => rowsTouched(service.deps.db.pool, () => page(filter, { first: 25 }));
    expect(await touchedBy({ gpus: ['p4'] })).toBeLessThanOrEqual(MAX_ROWS_SCANNED + 10);
    // Each listed instance is read together with its machine.
    const unfiltered = await touchedBy(null);
    expect(await touchedBy({ gpus: ['l4'] })).toBeLessThanOrEqual(unfiltered + 3 * 26 + 10);
  });
});

it('a filter reflects changes to an instance', async () => {
  const owner = await service.renter();
  const { body } = await owner.rest('POST', '/instances', { machine_id: await service.machine() });
  const running = async () => (await page({ statuses: ['RUNNING'] }, {}, owner)).ids;
  expect(await running()).toEqual([body.id]);
  expect((await page({ stopReasons: ['USER'] }, {}, owner)).ids).toEqual([]);
  await owner.rest('POST', `/instances/${body.id}/actions`, { action: 'stop' });
  expect(await running()).toEqual([]);
  expect((await page({ stopReasons: ['USER'], statuses: ['STOPPED'] }, {}, owner)).ids).toEqual([body.id]);
});

it("a filter finds no other account's instances", async () => {
  const stranger = await service.renter();
  expect(await page({ statuses: ['DESTROYED'] }, {}, stranger)).toMatchObject({
    ids: [],
    pageInfo: { hasNextPage: false, endCursor: null },
  });
});

it.each([
  [{ gpus: Array(101).fill('l4') }, 'gpus must be a list of at most 100 strings of 1 to 64 characters'],
  [{ gpus: [''] }, 'gpus[0] must be a string of 1 to 64 characters'],
  [{ statuses: Array(101).fill('RUNNING') }, 'statuses must be a list of at most 100 states'],
  [{ stopReasons: Array(101).fill('USER') }, 'stopReasons must be a list of at most 100 stop reasons'],
  [{ modes: Array(101).fill('RESERVED') }, 'modes must be a list of at most 100 pricing modes'],
  [{ statuses: ['GONE'] }, /does not exist in "InstanceStatus" enum/],
  [{ createdFrom: 'yesterday' }, /DateTime must be an instant/],
])('the filter %j is rejected', async (filter, message) => {
  const { body } = await renter.graphql(HISTORY, { filter });
  expect(body.errors[0].message).toMatch(message);
});

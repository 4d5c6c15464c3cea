import fc from 'fast-check';
import { expect } from 'vitest';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { anyCodePoint } from '../code-points.js';
import { type Answer, client, type Renter } from '../gateway.js';
import { isLong, type randomHistories } from '../long.js';
import { type Service, startService } from '../service.js';

/** Number of concurrent requests in a run. */
const AT_ONCE = isLong ? 25 : 12;
/** Number of machines. It is small, so that many deploys find their machine already rented. */
const MACHINES = 20;
const INSTANCES = 10;

/** A gateway and a renter who sends requests that no client would send. */
export interface Fuzzed {
  service: Service;
  renter: Renter;
  /** Existing ids, which keep some requests from being refused immediately. */
  known: { machines: string[]; instances: string[]; cursors: string[] };
  /** Number of requests so far. */
  sent: number;
}

export async function startFuzzed(): Promise<Fuzzed> {
  const service = await startService();
  // The tests themselves compare responses with the document, because they know the request.
  const { accountId } = await service.renter('100000');
  const renter = client(service.address, (await createApiKey(service.deps, accountId)).secret, accountId);
  const machines = await Promise.all(Array.from({ length: MACHINES }, () => service.machine()));
  const instances: string[] = [];
  for (const machine_id of machines.splice(0, INSTANCES)) {
    instances.push((await renter.rest('POST', '/instances', { machine_id })).body.id);
  }
  const page = await renter.graphql('{ instanceHistory(first: 3) { edges { cursor } } }');
  const cursors = page.body.data.instanceHistory.edges.map(({ cursor }: { cursor: string }) => cursor);
  return { service, renter, known: { machines, instances, cursors }, sent: 0 };
}

/** Returns what the account has. Only requests can change it, because the clock is stopped. */
async function holdings({ service, renter }: Fuzzed): Promise<{ instances: number; state: string }> {
  const [row] = await service.sql(
    `select (select count(*)::int from instance where account_id = $1) as instances,
       (select string_agg(id || status::text, ',' order by id) from instance where account_id = $1) as statuses,
       (select count(*)::int from ledger_entry where account_id = $1) as entries,
       (select count(*)::int from idempotency_key where account_id = $1) as kept,
       (select count(*)::int from api_key where account_id = $1) as keys,
       (select credit_units::text || ' ' || spend_units::text from account where id = $1) as money`,
    [renter.accountId],
  );
  return { instances: row!.instances as number, state: JSON.stringify(row) };
}

export interface Check<Case> {
  send(one: Case): Promise<Answer>;
  /** Throws if the response isn't permitted. */
  verify(answer: Answer, one: Case): void;
  /** Whether the request deployed an instance. */
  deployed(answer: Answer): boolean;
  /** Whether the request may have changed anything. */
  changed(answer: Answer, one: Case): boolean;
}

/**
 * Sends all requests of a run concurrently. Expects that each acknowledged deploy adds one instance and that nothing
 * changes if all requests were refused. A failure names the request.
 */
async function sendAll<Case>(
  fuzzed: Fuzzed,
  cases: Case[],
  { send, verify, deployed, changed }: Check<Case>,
): Promise<void> {
  const before = await holdings(fuzzed);
  const answers = await Promise.all(
    cases.map(async (one) => {
      const answer = await send(one);
      try {
        verify(answer, one);
      } catch (error) {
        const response = `${answer.status} ${JSON.stringify(answer.body)}`;
        throw new Error(`${shorten((error as Error).message)}\n${shorten(JSON.stringify(one))}\n${shorten(response)}`);
      }
      return answer;
    }),
  );
  fuzzed.sent += answers.length;
  const after = await holdings(fuzzed);
  expect(after.instances - before.instances).toBe(answers.filter(deployed).length);
  if (!answers.some((answer, index) => changed(answer, cases[index]!))) expect(after.state).toBe(before.state);
}

/** Plays `runs` runs or a third of them. Reports the seed and the fault, but not every value of the run. */
export function fuzz<Case>(
  fuzzed: Fuzzed,
  cases: fc.Arbitrary<Case>,
  runs: ReturnType<typeof randomHistories>,
  check: Check<Case>,
): Promise<void> {
  const run = fc.array(cases, { minLength: AT_ONCE, maxLength: AT_ONCE });
  return fc.assert(
    fc.asyncProperty(run, (all) => sendAll(fuzzed, all, check)),
    {
      ...runs,
      endOnFailure: true,
      asyncReporter: async ({ failed, seed, errorInstance }) => {
        if (failed) throw new Error(`seed ${seed}: ${(errorInstance as Error).message}`);
      },
    },
  );
}

function shorten(text: string): string {
  const short = text.replace(/x{50,}/g, 'x…x');
  return short.length < 600 ? short : `${short.slice(0, 600)}…`;
}

const oddTexts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '__proto__',
  'constructor',
  'toString',
  "'; drop table instance; --",
  '%00',
  '%s%n',
  '{{7*7}}',
  '../../etc/passwd',
  'x'.repeat(300),
  'x'.repeat(20_000),
  'null',
  'true',
  '1e3',
  '0x10',
  '-0',
  '١',
  'i-00000000',
  'i-ffffffff',
  'I-00000000',
  '9999-12-31T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-11-20T12:00:60Z',
  '2026-11-20T12:00:00+99:99',
  '2026-11-20',
  'MTIz',
  Buffer.from('{"__proto__":1}').toString('base64'),
  Buffer.from('DC:D:99999999999999').toString('base64'),
  Buffer.from('OC:99999999999999999999').toString('base64'),
];
export const oddNumbers = [
  0,
  -0,
  -1,
  1,
  8,
  9,
  25,
  50,
  100,
  101,
  0.1,
  1.5,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e21,
  1e308,
  -1e308,
  5e-324,
];

export const oddText = () => fc.oneof(fc.constantFrom(...oddTexts), fc.string({ unit: anyCodePoint }), fc.string());
export const ids = ({ known }: Fuzzed) =>
  fc.constantFrom(...known.machines, ...known.instances, ...known.cursors, 'pytorch', 'od', 'res', 'stop', 'start');
/** Generates any JSON value, with a preference for values that may be accepted. */
export const anyJson = (fuzzed: Fuzzed): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 4, arbitrary: ids(fuzzed) },
    { weight: 3, arbitrary: oddText() },
    { weight: 3, arbitrary: fc.constantFrom(...oddNumbers) },
    { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], { __proto__: null, length: 1 }) },
  );

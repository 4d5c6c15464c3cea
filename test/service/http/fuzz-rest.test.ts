import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anyJson, type Fuzzed, fuzz, oddNumbers, oddText, startFuzzed } from '../../support/http/fuzz.js';
import { randomHistories } from '../../support/long.js';
import { dereferenced, type Operation, operationsOf } from '../../support/openapi.js';

const RUNS_PER_ROUTE = 14;
const TIMEOUT_MS = 300_000;

type Runs = ReturnType<typeof randomHistories>;

let fuzzed: Fuzzed;

beforeAll(async () => {
  fuzzed = await startFuzzed();
});
afterAll(() => fuzzed.service.close());

/** Valid values for members that the contract doesn't have. */
const LIKELY: Readonly<Record<string, unknown>> = {
  name: 'train-1',
  env: { MODEL: 'a b' },
  secrets: [],
  entrypoint: ['/bin/sh'],
  command: ['-c', 'true'],
  ports: [{ port: 8888, name: 'JupyterLab' }],
  tcp_ports: [],
  registry_login: null,
  user: null,
  restart: 'never',
  on_exit: 'keep',
  stop_at: '8h',
  destroy_at: null,
  spend_limit: null,
  // No machine here has an agent that measures load.
  stop_when_idle: null,
  labels: { team: 'vision' },
  volumes: [],
  size_gb: 10,
};

interface Request {
  path: string;
  body: unknown;
  headers: Record<string, string>;
}

/** Returns a value that is valid about two times out of three, and otherwise any value. */
function bodyValue(name: string, property: Record<string, unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 2, arbitrary: likelyValue(name, property) }, { weight: 1, arbitrary: anyJson(fuzzed) });
}

function likelyValue(name: string, property: Record<string, unknown>): fc.Arbitrary<unknown> {
  if (name in LIKELY) return fc.constantFrom(null, LIKELY[name]);
  const given = property.anyOf === undefined ? property : (property.anyOf as Record<string, unknown>[])[0]!;
  const choices = given.enum ?? (given.default === undefined ? fuzzed.known.machines : [given.default]);
  return fc.constantFrom(...(choices as unknown[]));
}

function pathOf(path: string): fc.Arbitrary<string> {
  const id = fc
    .oneof(fc.constantFrom(...fuzzed.known.instances), oddText())
    .map(encode)
    .filter((text) => isShort(text) && isSegment(text));
  return id.map((text) => path.replace('{id}', text));
}

function queryOf(operation: Operation): fc.Arbitrary<string> {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  const names = fc.constantFrom(...parameters.map(({ name }) => name), 'unknown', '__proto__', 'limit[]');
  const pair = fc.tuple(
    names,
    fc
      .oneof(fc.constantFrom(...oddNumbers).map(String), oddText())
      .map(encode)
      .filter(isShort),
  );
  // A route without parameters rejects every query string, so few of its requests have one.
  const pairs =
    parameters.length > 0
      ? fc.array(pair, { maxLength: 4 })
      : fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(pair, { maxLength: 4 }) });
  return pairs.map((all) => (all.length === 0 ? '' : `?${all.map(([name, value]) => `${name}=${value}`).join('&')}`));
}

function bodyOf(operation: Operation): fc.Arbitrary<unknown> {
  const body = operation.requestBody?.content['application/json']?.schema;
  if (body === undefined) return fc.constant(undefined);
  const properties = Object.entries(body.properties as Record<string, Record<string, unknown>>);
  const fields = Object.fromEntries(properties.map(([name, property]) => [name, bodyValue(name, property)]));
  const likely = Object.fromEntries(properties.map(([name, property]) => [name, likelyValue(name, property)]));
  return fc.oneof(
    { weight: 4, arbitrary: fc.record(likely) },
    { weight: 8, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    { weight: 4, arbitrary: fc.record(fields) },
    { weight: 1, arbitrary: anyJson(fuzzed).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: oddText() },
  );
}

const headersOf = (): fc.Arbitrary<Record<string, string>> => {
  const keys = fc.oneof(fc.constantFrom('a', 'b', 'c', ' ', 'a b', 'x'.repeat(255), 'x'.repeat(256), 'é'), fc.uuid());
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: keys.map((key) => ({ 'idempotency-key': key })) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('text/plain', 'a/b; charset=x', '').map((type) => ({ 'content-type': type })),
    },
  );
};

it('any request to any route gets a documented response', { timeout: TIMEOUT_MS }, async () => {
  const operations = operationsOf(dereferenced(fuzzed.service.api.document));
  expect(operations).toHaveLength(27);
  // Deletions come last, so that there is something to act on.
  operations.sort((one, other) => Number(one.method === 'delete') - Number(other.method === 'delete'));
  const runs = randomHistories(RUNS_PER_ROUTE, 7);
  for (const { path, method, operation } of operations) await fuzzRoute(path, method.toUpperCase(), operation, runs);
  for (const expected of ['deployInstance 201', 'deployInstance 409', 'deployInstance 422', 'actOnInstance 200']) {
    expect(fuzzed.service.api.seen).toContain(expected);
  }
});

function fuzzRoute(path: string, method: string, operation: Operation, runs: Runs): Promise<void> {
  const request: fc.Arbitrary<Request> = fc
    .tuple(pathOf(path), queryOf(operation), bodyOf(operation), headersOf())
    .map(([address, query, body, headers]) => ({ path: address + query, body, headers }));
  const isDeploy = operation.operationId === 'deployInstance';
  // Deploys are refused for many reasons, and each of them must occur.
  const numRuns = runs.numRuns * (isDeploy ? 4 : 1);
  return fuzz(
    fuzzed,
    request,
    { ...runs, numRuns },
    {
      send: ({ path: address, body, headers }) => fuzzed.renter.rest(method, address, body, headers),
      verify: (answer, { path: address }) => {
        // The document includes these statuses, but a caller must not be able to cause them.
        expect(answer.status).toBeLessThan(500);
        fuzzed.service.api.check(method, address, answer);
      },
      deployed: ({ status, headers }) => isDeploy && status === 201 && !headers.has('idempotent-replayed'),
      changed: ({ status }) => method !== 'GET' && status < 300,
    },
  );
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function encode(text: string): string {
  return LONE_SURROGATE.test(text) ? '%ED%A0%80' : encodeURIComponent(text);
}

/** Whether a URL doesn't treat the text as a path to the same folder or its parent. */
function isSegment(text: string): boolean {
  return text !== '' && !/^(\.|%2e){1,2}$/i.test(text);
}

/** Whether the text is short enough. An address above 16 kB is rejected before routing. */
function isShort(text: string): boolean {
  return text.length < 1_500;
}

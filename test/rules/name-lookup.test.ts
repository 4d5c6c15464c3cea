import { createSocket, type Socket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createNameLookup, type LookupAll } from '../../src/std/name-lookup.js';

const [A, AAAA] = [1, 28];
/**
 * Names that the DNS server knows, by type. It doesn't respond for names under `silent.example` and fails for
 * `FAILING`.
 */
const KNOWN: Record<string, Record<number, number[]>> = {
  'both.example': { [A]: [192, 0, 2, 1], [AAAA]: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] },
  'v4.example': { [A]: [192, 0, 2, 2] },
  'payments.cluster.local': { [A]: [192, 0, 2, 3] },
  'shop.example': { [A]: [192, 0, 2, 4] },
};
const FAILING = 'shop.example.cluster.local';
const [NO_ERROR, SERVER_FAILURE, NO_NAME] = [0x8180, 0x8182, 0x8183];
let server: Socket;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'names-'));
  writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost # as usual\n192.0.2.9 Own.Example own\n::1 own\n');
  writeFileSync(join(folder, 'resolv.conf'), 'nameserver 192.0.2.53\nsearch cluster.local.\noptions edns0 ndots:2\n');
  server = createSocket('udp4').on('message', (query, from) => {
    const { name, type, end } = question(query);
    if (name.endsWith('silent.example')) return;
    const address = KNOWN[name]?.[type];
    const head = Buffer.from(query.subarray(0, 12));
    const missing = name === FAILING ? SERVER_FAILURE : NO_NAME;
    head.writeUInt16BE(KNOWN[name] === undefined ? missing : NO_ERROR, 2);
    head.writeUInt16BE(address === undefined ? 0 : 1, 6);
    head.writeUInt16BE(0, 10);
    const record = address === undefined ? [] : [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, address.length, ...address];
    server.send(Buffer.concat([head, query.subarray(12, end), Buffer.from(record)]), from.port, from.address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

function question(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

const lookup = (more: Partial<Parameters<typeof createNameLookup>[0]> = {}) => {
  const { port } = server.address() as AddressInfo;
  const servers = [`127.0.0.1:${port}`];
  const files = { hostsFile: join(folder, 'hosts'), resolvConf: join(folder, 'resolv.conf') };
  const of = createNameLookup({ servers, ...files, ...more });
  return (host: string) =>
    new Promise<string[] | string>((resolve) =>
      of(host, { all: true }, (error, found) =>
        resolve(error === null ? found.map(({ address }) => address) : error.code!),
      ),
    );
};

it('names are found in the hosts file, by search list and for both IP families', async () => {
  const find = lookup();
  expect(await find('OWN.example.')).toEqual(['192.0.2.9']);
  expect(await find('own')).toEqual(['192.0.2.9', '::1']);
  expect(await find('app.localhost')).toEqual(['127.0.0.1', '::1']);
  expect(await find('both.example')).toEqual(['192.0.2.1', '2001:db8::1']);
  expect(await find('v4.example')).toEqual(['192.0.2.2']);
  expect(await find('payments')).toEqual(['192.0.2.3']);
  expect(await find('none.example')).toBe('ENOTFOUND');
});

it('names on a silent server time out without delaying other names or files', async () => {
  const find = lookup({ withinMs: 150 });
  const silent = Array.from({ length: 300 }, (_, n) => find(`n${n}.silent.example`));
  const beganMs = performance.now();
  const others = await Promise.all([find('own'), stat('/')]);
  expect(others[0]).toEqual('EAI_AGAIN');
  const outcomes = await Promise.all(silent);
  expect(new Set(outcomes)).toEqual(new Set(['EAI_AGAIN']));
  expect(performance.now() - beganMs).toBeLessThan(2_000);
  expect(await find('own')).toEqual(['192.0.2.9', '::1']);
});

it('a name is found even if the server fails for a longer search-list candidate', async () => {
  expect(await lookup()('shop.example')).toEqual(['192.0.2.4']);
  expect(await lookup()(FAILING)).toBe('EAI_AGAIN');
});

it('names missing from DNS are looked up by the system, two at a time', async () => {
  const held: Parameters<LookupAll>[2][] = [];
  const find = lookup({ system: (_host, _options, done) => void held.push(done) });
  const found = ['a.example', 'b.example', 'c.example', 'v4.example'].map(find);
  expect(await Promise.all(found.slice(2))).toEqual(['EAI_AGAIN', ['192.0.2.2']]);
  for (const done of held) done(null, [{ address: '192.0.2.7', family: 4 }]);
  expect(await Promise.all(found.slice(0, 2))).toEqual([['192.0.2.7'], ['192.0.2.7']]);
});

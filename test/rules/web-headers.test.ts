import { describe, expect, it } from 'vitest';
import { webSiteOf } from '../../src/domain/kernel/web-site.js';
import {
  headersForContainer,
  headersForVisitor,
  isFromElsewhere,
  mayUsePass,
  type Provenance,
  passesOf,
  tokenOf,
} from '../../src/domain/web-ports/rules/web-headers.js';

const KEY = `gpu_live_${'0a'.repeat(20)}`;
const SAID = [
  'X-Forwarded-For',
  '9.9.9.9',
  'X-Forwarded-Proto',
  'https',
  'X-Forwarded-Host',
  'h',
  'X-Real-IP',
  '9.9.9.9',
];
const passed = (...raw: string[]) => {
  const all = headersForContainer(raw, { host: 'h', addresses: ['9.9.9.9'], isTls: true });
  expect(all.slice(0, 2)).toEqual(['Host', 'h']);
  expect(all.slice(-SAID.length)).toEqual(SAID);
  return all.slice(2, -SAID.length);
};

describe('the headers sent to a container', () => {
  it('keep their spelling, order and repetition', () => {
    const raw = [
      'Accept',
      'a',
      'X-B',
      '1',
      'x-b',
      '2',
      'Cookie',
      'c=d',
      'Authorization',
      'Bearer theirs',
      'X-\u00e9',
      '\u00ff',
    ];
    expect(passed(...raw)).toEqual(raw);
  });

  it.each([
    ['Connection', 'close'],
    ['Keep-Alive', 'timeout=5'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '5'],
    ['TE', 'trailers'],
    ['Trailer', 'X'],
    ['Upgrade', 'h2c'],
    ['Proxy-Authorization', 'Basic eA=='],
    ['Expect', '100-continue'],
    ['HOST', 'other'],
    ['x-WEB-token', 'a'.repeat(43)],
    ['X-Forwarded-For', '1.2.3.4'],
    ['x-forwarded-anything', 'x'],
    ['Forwarded', 'for=1.2.3.4'],
    ['X-Real-IP', '1.2.3.4'],
    ['CF-Connecting-IP', '1.2.3.4'],
    ['Authorization', `Bearer ${KEY}`],
    ['Authorization', `bearer ${KEY.toUpperCase().replace('GPU_LIVE_', 'gpu_live_')}`],
    ['Authorization', `Basic ${Buffer.from(`user:${KEY}`).toString('base64')}`],
    ['X-Api-Key', KEY],
    ['X-Whatever', `a ${KEY.replace('live', 'host')} b`],
    ['Cookie', 'gpu_web=x'],
    ['Cookie', ' __Host-gpu_web = x ; CONSOLE=y; __Secure-console=z'],
  ])("don't include %s: %s", (name, value) => {
    expect(passed(name, value)).toEqual([]);
  });

  it("omit the gateway's cookies and any headers named by Connection", () => {
    expect(passed('Connection', 'X-A, close', 'X-A', '1', 'X-B', '2')).toEqual(['X-B', '2']);
    expect(passed('Cookie', 'a=1; gpu_web=x; b=gpu_web=2; gpu_website=3')).toEqual([
      'Cookie',
      'a=1; b=gpu_web=2; gpu_website=3',
    ]);
  });

  it('contain the visitor’s address, scheme and host as far as they are trusted', () => {
    const said = headersForContainer([], { host: 'h', addresses: ['1.1.1.1', '10.0.0.1'], isTls: false });
    expect(said.slice(2)).toEqual([
      ...['X-Forwarded-For', '1.1.1.1, 10.0.0.1', 'X-Forwarded-Proto', 'http'],
      ...['X-Forwarded-Host', 'h', 'X-Real-IP', '1.1.1.1'],
    ]);
  });
});

it("a container's cookies can't widen their domain or use the gateway's names", () => {
  const cookie = (value: string) => headersForVisitor(['Set-Cookie', value])[1];
  expect(cookie('a=b; Path=/; Domain=gpu.example.com; Secure')).toBe('a=b; Path=/; Secure');
  expect(cookie('a=b;DOMAIN=x;domain = .y; \tDomain\t=z')).toBe('a=b');
  expect(cookie('a=b; Domain')).toBe('a=b');
  expect(cookie('domain=x; Path=/')).toBe('domain=x; Path=/');
  expect(cookie('gpu_web=x')).toBeUndefined();
  expect(cookie(' __Host-console =x')).toBeUndefined();
  expect(
    headersForVisitor(['Clear-Site-Data', '*', 'Alt-Svc', 'h3=":443"', 'Connection', 'X', 'X', '1', 'Y', '2']),
  ).toEqual(['Y', '2']);
});

it('the passes in a request are found, up to a maximum number', () => {
  const pass = (end: number) => `${'a'.repeat(40)}${100 + end}`;
  const cookies = `a=b; gpu_web=${pass(1)}; __Host-gpu_web=${pass(2)};gpu_web = ${pass(3)}; xgpu_web=${pass(4)}`;
  expect(passesOf(undefined, false)).toEqual([]);
  expect(passesOf(cookies, false)).toEqual([pass(1), pass(3)]);
  // As many passes as fit into the head of a request, so that a neighbour's cookies can't hide any.
  const many = Array.from({ length: 500 }, (_, end) => pass(end));
  expect(passesOf(many.map((each) => `gpu_web=${each}`).join('; '), false)).toEqual(many.slice(0, 400));
  // With TLS, a neighbour can set only the cookie without the prefix.
  expect(passesOf(cookies, true)).toEqual([pass(2)]);
  const hiding = `${`gpu_web=${pass(5)}; `.repeat(4)}${'__Host-gpu_web=; __Host-gpu_web=x; '.repeat(9)}`;
  expect(passesOf(`${hiding}__Host-gpu_web=${pass(6)}`, true)).toEqual([pass(6)]);
  expect(passesOf(`${'gpu_web=x; '.repeat(9)}gpu_web=${pass(7)}; gpu_web=${pass(7)}`, false)).toEqual([pass(7)]);
});

describe('the use of a pass', () => {
  const DOMAIN = 'gpu.example.com';
  const own = 'i-31f72534';
  const may = (changes: Partial<Provenance>) => {
    const nothing = { origin: undefined, fetchSite: undefined, fetchMode: undefined, fetchDest: undefined };
    return mayUsePass({ method: 'GET', ...nothing, ...changes }, own, (host) => webSiteOf(host, DOMAIN, []));
  };
  const tab = { fetchMode: 'navigate', fetchDest: 'document' };

  it.each<Partial<Provenance>>([
    {},
    { method: 'POST' },
    { fetchSite: 'same-origin', method: 'POST' },
    { fetchSite: 'none' },
    { fetchSite: 'cross-site', ...tab },
    { fetchSite: 'same-site', ...tab, method: 'HEAD' },
    { origin: `https://${own}.${DOMAIN}`, method: 'POST' },
    { origin: `http://${own}-8888.${DOMAIN}:4000`, fetchSite: 'same-site' },
  ])('is allowed for %o', (changes) => {
    expect(may(changes)).toBe(true);
  });

  it.each<Partial<Provenance>>([
    { fetchSite: 'same-site', fetchMode: 'no-cors', fetchDest: 'image' },
    { fetchSite: 'same-site', fetchMode: 'navigate', fetchDest: 'iframe' },
    { fetchSite: 'same-site', fetchMode: 'cors', fetchDest: 'document' },
    { fetchSite: 'cross-site', ...tab, method: 'POST' },
    { fetchSite: 'whatever' },
    { origin: 'null' },
    { origin: `https://i-00000000.${DOMAIN}` },
    { origin: `https://${own}.${DOMAIN}.evil.example` },
    { origin: `https://${DOMAIN}`, method: 'POST' },
    { origin: '', method: 'POST' },
  ])('is not allowed for %o', (changes) => {
    expect(may(changes)).toBe(false);
  });
});

describe('headers and cookies with similar names', () => {
  const kept: [string, string][] = [
    ['X-A', 'a=1; gpu_web=x'],
    ['Cookie', 'xgpu_web=1; console2=2'],
    ['My-X-Forwarded-For', '1.2.3.4'],
    ['Forwarded-Not', '1.2.3.4'],
    ['Viaduct', 'x'],
    ['X-Secret', `gpu_live_${'0a'.repeat(19)}`],
    ['Authorization', `Basic ${Buffer.from(KEY).toString('base64')} x`],
    ['Authorization', `XBasic ${Buffer.from(KEY).toString('base64')}`],
  ];
  it.each(kept)('are passed on: %s: %s', (name, value) => {
    expect(passed(name, value)).toEqual([name, value]);
  });

  it.each([
    ['X-Forwarded', 'for=1.2.3.4'],
    ['Via', '1.1 proxy'],
    ['Proxy-Authenticate', 'Basic'],
    ['Proxy-Authentication-Info', 'x'],
    ['Proxy-Connection', 'close'],
    ['Authorization', `Basic   ${Buffer.from(KEY).toString('base64')} `],
  ])('are not passed on: %s: %s', (name, value) => {
    expect(passed(name, value)).toEqual([]);
  });

  it('are matched by exact name, ignoring spaces around names and cookies', () => {
    expect(passed('X-A', 'x-b', 'X-B', '1')).toEqual(['X-A', 'x-b', 'X-B', '1']);
    expect(passed('Connection', 'close ,  X-A ', 'x-a', '1')).toEqual([]);
    expect(passed('Cookie', 'gpu_web=x; a=1')).toEqual(['Cookie', 'a=1']);
    expect(headersForVisitor(['X-Cookie', 'a=1; Domain=x'])).toEqual(['X-Cookie', 'a=1; Domain=x']);
  });
});

it('a token is taken only from its header and only in the valid format', () => {
  expect(tokenOf('a'.repeat(43))).toEqual(['a'.repeat(43)]);
  for (const other of [undefined, '', 'a'.repeat(42), `${'a'.repeat(42)} `]) expect(tokenOf(other)).toEqual([]);
});

it("only navigations from other sites are shown the gateway's own page first", () => {
  const visit = {
    method: 'GET',
    origin: undefined,
    fetchSite: 'cross-site',
    fetchMode: 'navigate',
    fetchDest: 'document',
  };
  expect(isFromElsewhere(visit)).toBe(true);
  expect(isFromElsewhere({ ...visit, fetchSite: 'same-site' })).toBe(true);
  for (const other of [
    { fetchSite: 'same-origin' },
    { fetchSite: 'none' },
    { fetchSite: undefined },
    { method: 'POST' },
    { fetchMode: 'cors' },
    { fetchDest: 'iframe' },
  ])
    expect(isFromElsewhere({ ...visit, ...other })).toBe(false);
});

import { describe, expect, it } from 'vitest';
import { isForeignHost, isWebPath, webHostOf, webSiteOf } from '../../src/domain/kernel/web-site.js';

const DOMAIN = 'gpu.example.com';
const ID = 'i-31f72534';
const OWN = `api.${DOMAIN}`;
const site = (host: string) => webSiteOf(host, DOMAIN, [OWN, 'gateway-1.example.net']);

describe("a host name's target", () => {
  it("is an instance's first port, or the port that the name contains", () => {
    expect(site(`${ID}.${DOMAIN}`)).toEqual({ instanceId: ID, port: null });
    expect(site(`${ID}-8888.${DOMAIN}`)).toEqual({ instanceId: ID, port: 8_888 });
    expect(site(`${ID}-65535.${DOMAIN}`)).toEqual({ instanceId: ID, port: 65_535 });
    for (const port of [null, 1, 65_535]) expect(site(webHostOf(ID, port, DOMAIN))).toEqual({ instanceId: ID, port });
  });

  it.each([
    `${ID}-80.${DOMAIN}`.toUpperCase(),
    `${ID}-80.${DOMAIN}.`,
    `${ID}-80.${DOMAIN}:4000`,
    `${ID}-80.${DOMAIN}.:4000`,
    `${ID}-80.${DOMAIN}:`,
  ])('is the same in any spelling: %s', (host) => {
    expect(site(host)).toEqual({ instanceId: ID, port: 80 });
  });

  it.each([
    `i-.${DOMAIN}`,
    `i-31f7253.${DOMAIN}`,
    `i-31f725345.${DOMAIN}`,
    `i-31f7253g.${DOMAIN}`,
    `${ID}-.${DOMAIN}`,
    `${ID}-0.${DOMAIN}`,
    `${ID}-080.${DOMAIN}`,
    `${ID}-65536.${DOMAIN}`,
    `${ID}-99999.${DOMAIN}`,
    `${ID}-80-81.${DOMAIN}`,
    `${ID}--80.${DOMAIN}`,
    `a.${ID}.${DOMAIN}`,
    `.${ID}.${DOMAIN}`,
    `${ID}\u0000.${DOMAIN}`,
    `www.${DOMAIN}`,
    `.${DOMAIN}`,
    `x${ID}.${DOMAIN}`,
    `${ID}.${OWN}`,
    `x.${OWN}`,
  ])('is neither an instance nor the gateway: %s', (host) => {
    expect(site(host)).toBeNull();
  });

  it.each([
    '',
    '.',
    ':4000',
    DOMAIN,
    OWN,
    `${OWN}:4000`,
    `${OWN.toUpperCase()}.`,
    `${ID}.${DOMAIN}..`,
    `${ID}.${DOMAIN}:123456`,
    `${ID}.${DOMAIN}.evil.example`,
    `${ID}x${DOMAIN}`,
    ID,
    '127.0.0.1:4000',
    '[::1]:4000',
    '[fe80::1%25eth0]',
    `${'i-'.repeat(5_000)}.${DOMAIN}`,
    `${'a.'.repeat(5_000)}${ID}.${DOMAIN}`,
  ])('is the gateway: %s', (host) => {
    expect(site(host)).toBeUndefined();
  });
});

it('a host name is foreign if the operator has published another name', () => {
  const foreign = (host: string, publicUrl = 'https://gpu.example.com') => isForeignHost(host, publicUrl);
  for (const host of ['evil.example', 'www.gpu.example.com', 'gpu.example.com.evil.example:4000'])
    expect(foreign(host), host).toBe(true);
  const known = [
    'gpu.example.com',
    'GPU.example.com.:443',
    'localhost:4000',
    'a.localhost',
    'gateway',
    '10.0.0.1:80',
    '[::1]:4',
  ];
  for (const host of ['', ...known]) expect(foreign(host), host).toBe(false);
  for (const url of ['http://127.0.0.1:4000', 'http://localhost:4000', 'http://[::1]:4000'])
    expect(foreign('any.example', url), url).toBe(false);
});

it('a path is accepted only if it stays on the same host', () => {
  for (const path of ['/', '/a/b?c=d#e', '/?next=//x']) expect(isWebPath(path), path).toBe(true);
  for (const path of [
    '',
    'a',
    '//evil.example',
    '/\\evil.example',
    'http://evil.example/',
    '/a b',
    '/a\nb',
    '/\t/evil',
  ])
    expect(isWebPath(path), path).toBe(false);
});

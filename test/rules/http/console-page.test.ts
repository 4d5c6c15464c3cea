import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Brand } from '../../../src/http/console/brand.js';
import { createConsolePage } from '../../../src/http/console/page.js';
import { createRequestState } from '../../../src/http/request-state.js';

const HTML =
  '<!doctype html><head><title>Console</title><link rel="icon" href="/icon.svg"></head><script type="module" src="/assets/main-abc123.js"></script>';
const VERIFY_POLICY = "default-src 'none'; script-src 'sha256-abc='";
const VERIFY = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${VERIFY_POLICY}"><title>Verify · Console</title></head>`;
const GERMAN = '<!doctype html><title>Konsole</title>';
const SCRIPT = `console.log(${JSON.stringify('a'.repeat(2_000))})`;
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'accept-encoding': 'gzip, deflate, br' };

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const BRAND = {
  name: '<b>"A&B"</b> $& $1',
  accent: '#0f766e',
  logo: { type: 'image/svg+xml', content: Buffer.from(LOGO) },
} as const;

const folder = mkdtempSync(join(tmpdir(), 'console-page-'));
let server: Server;
let port: number;

beforeAll(async () => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.en.html'), HTML);
  const german = join(folder, 'index.de.html');
  writeFileSync(german, GERMAN);
  writeFileSync(`${german}.br`, brotliCompressSync(GERMAN));
  writeFileSync(join(folder, 'verify.en.html'), VERIFY);
  writeFileSync(join(folder, 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'assets/world-abc123.svg'), '<svg/>');
  const script = join(folder, 'assets/main-abc123.js');
  writeFileSync(script, SCRIPT);
  writeFileSync(`${script}.br`, brotliCompressSync(SCRIPT));
  writeFileSync(`${script}.gz`, gzipSync(SCRIPT));
  server = await served();
  port = (server.address() as AddressInfo).port;
});

async function served(brand?: Brand): Promise<Server> {
  const app = express();
  app.use((req, _res, next) => {
    req.state = createRequestState('r');
    next();
  });
  const page = createConsolePage(folder, { ...(brand && { brand }) })!;
  app.use(page.router);
  app.use(page.unknown);
  app.use((_req, res) => void res.status(404).json({ error: 'elsewhere' }));
  const listening = createServer(app);
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return listening;
}

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** Requests the path verbatim, because fetch would normalize it. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET', of = port) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: of, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject).end();
  });
}

it("the first screen's largest picture is preloaded only where it is shown", async () => {
  const link = async (path: string, cookie = 'language=en') =>
    (await ask(path, { ...BROWSER, cookie })).headers.link ?? null;
  expect(await link('/')).toBe('</assets/world-abc123.svg>; rel=preload; as=image');
  expect([await link('/machines'), await link('/', 'console=abc'), await link('/', '__Host-console=abc')]).toEqual([
    null,
    null,
    null,
  ]);
});

it("every screen's path serves browsers the page and clients the API's response", async () => {
  for (const path of [
    '/',
    '/?gpu=h100-sxm&query=x',
    '/sign-in',
    '/instances',
    '/instances/i-00000000',
    '/billing',
    '/keys',
    '/launch',
  ]) {
    const { status, headers, body } = await ask(path, BROWSER);
    expect([path, status, body.toString()]).toEqual([path, 200, HTML]);
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      vary: 'Accept, Accept-Language, Cookie, Accept-Encoding',
    });
    for (const accept of ['*/*', 'application/json', undefined]) {
      expect((await ask(path, accept === undefined ? {} : { accept })).status).toBe(404);
    }
  }
  // For browsers, an unknown address is a page too. For clients, the API returns its own error.
  for (const path of ['/nothing', '/instances/i-1/x', '/index.html/', '/v1x']) {
    const { status, headers, body } = await ask(path, BROWSER);
    expect([path, status, body.toString()]).toEqual([path, 404, HTML]);
    expect(headers['content-security-policy']).toContain("default-src 'self'");
    for (const accept of ['*/*', 'application/json'])
      expect((await ask(path, { accept })).body.toString()).toContain('elsewhere');
    expect((await ask(path, BROWSER, 'POST')).body.toString()).toContain('elsewhere');
  }
  for (const path of ['/v1', '/v1/balance']) expect((await ask(path, BROWSER)).body.toString()).toContain('elsewhere');
  const head = await ask('/', BROWSER, 'HEAD');
  expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, String(HTML.length), 0]);
});

it("redirects browsers from a screen's former path, and clients to nothing", async () => {
  for (const [path, to] of [
    ['/money?top-up=t-1', '/billing?top-up=t-1'],
    ['/webhooks', '/notifications'],
  ] as const) {
    const { status, headers } = await ask(path, BROWSER);
    expect([status, headers.location, headers.vary]).toEqual([308, to, 'Accept']);
    expect((await ask(path, { accept: '*/*' })).status).toBe(404);
  }
});

it("the page allows only its own files and can't be framed by another page", async () => {
  const { headers } = await ask('/billing', BROWSER);
  const policy = headers['content-security-policy'] as string;
  expect(policy.split('; ')).toEqual(
    expect.arrayContaining(["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]),
  );
  expect(policy).not.toMatch(/unsafe|\*|data:|https?:/);
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
  });
});

it('the page that verifies statements has the policy that it contains, and is otherwise like the console', async () => {
  const { status, headers, body } = await ask('/verify', { ...BROWSER, 'accept-language': 'de' });
  expect([status, body.toString(), headers['content-language']]).toEqual([200, VERIFY, 'en']);
  expect(headers['content-security-policy']).toBe(`${VERIFY_POLICY}; frame-ancestors 'none'`);
  expect(headers['x-content-type-options']).toBe('nosniff');
  expect((await ask('/verify.en.html', BROWSER)).body.toString()).toBe(HTML);
  expect((await ask('/verify', { accept: 'application/json' })).status).toBe(404);
});

it('files are sent as compressed by the build, with a long lifetime if hashed', async () => {
  const path = '/assets/main-abc123.js';
  const decoded = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes };
  for (const coding of ['br', 'gzip', 'identity'] as const) {
    const { headers, body } = await ask(path, { 'accept-encoding': coding });
    expect(headers['content-encoding'] ?? 'identity').toBe(coding);
    expect(decoded[coding](body).toString()).toBe(SCRIPT);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
    const again = await ask(path, { 'accept-encoding': coding, 'if-none-match': headers.etag! });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  }
  expect((await ask(path, { 'accept-encoding': 'gzip, br' })).headers['content-encoding']).toBe('br');
  const icon = await ask('/icon.svg', BROWSER);
  expect(icon.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' });
  expect((await ask(path, {}, 'POST')).headers.allow).toBe('GET, HEAD, OPTIONS');
});

it('no file outside the build is served', async () => {
  for (const path of [
    '/assets/../../package.json',
    '/assets/%2e%2e/index.html',
    '/assets/main-abc123.js.br',
    '/assets',
    '//etc/passwd',
    '/assets/..%2findex.html',
  ]) {
    expect([path, (await ask(path, BROWSER)).status]).toEqual([path, 404]);
  }
});

it("the console is disabled if it hasn't been built", () => {
  expect(createConsolePage(join(folder, 'none'))).toBeNull();
});

it.each([
  [{}, 'en'],
  [{ 'accept-language': '*' }, 'en'],
  [{ 'accept-language': 'fr, es;q=0.9' }, 'en'],
  [{ 'accept-language': 'de-AT, de;q=0.9, en;q=0.8' }, 'de'],
  [{ 'accept-language': 'en, de;q=0.9' }, 'en'],
  [{ 'accept-language': 'en', cookie: 'a=b; language=de' }, 'de'],
  [{ 'accept-language': 'de', cookie: 'language=en;x=1' }, 'en'],
  [{ 'accept-language': 'de', cookie: 'language=constructor; other-language=en' }, 'de'],
])('the console responds to %j in %s', async (headers, language) => {
  const answer = await ask('/', { ...BROWSER, 'accept-encoding': 'identity', ...headers } as Record<string, string>);
  expect(answer.headers['content-language']).toBe(language);
  expect(answer.body.toString()).toBe(language === 'de' ? GERMAN : HTML);
  for (const name of ['Accept-Language', 'Cookie']) expect(answer.headers.vary).toContain(name);
});

it("the operator's brand is in every page, and its files can't run scripts", async () => {
  const branded = await served(BRAND);
  const of = (branded.address() as AddressInfo).port;
  try {
    const page = await ask('/machines', BROWSER, 'GET', of);
    const html = page.body.toString();
    expect(html).toContain('<title>&lt;b&gt;&quot;A&amp;B&quot;&lt;/b&gt; $&amp; $1</title>');
    expect(html).toContain('<meta name="application-name" content="&lt;b&gt;&quot;A&amp;B&quot;&lt;/b&gt; $&amp; $1">');
    expect(html).toContain('<meta name="theme-color" content="#0f766e">');
    expect(html).toMatch(/<link rel="stylesheet" href="\/console\/accent.css"><\/head>/);
    expect(html).toContain('<link rel="icon" href="/console/logo" type="image/svg+xml">');
    const german = await ask('/', { ...BROWSER, 'accept-language': 'de' }, 'GET', of);
    expect(brotliDecompressSync(german.body).toString()).toContain('<title>&lt;b&gt;');
    const verify = (await ask('/verify', BROWSER, 'GET', of)).body.toString();
    expect(verify).toContain('<title>Verify · &lt;b&gt;');
    expect(verify).not.toContain('/console/');

    const accent = await ask('/console/accent.css', {}, 'GET', of);
    expect(accent.body.toString()).toBe(':root{--brand:#0f766e}');
    expect(accent.headers).toMatchObject({ 'content-type': 'text/css; charset=utf-8', 'cache-control': 'no-cache' });
    const logo = await ask('/console/logo', {}, 'GET', of);
    expect(logo.body.toString()).toBe(LOGO);
    expect(logo.headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
    const again = await ask('/console/logo', { 'if-none-match': logo.headers.etag! }, 'GET', of);
    expect([again.status, again.body.length]).toEqual([304, 0]);
    for (const path of ['/console/logo/', '/console/logo/../../../etc/passwd', '/console/%2e%2e/package.json'])
      expect((await ask(path, {}, 'GET', of)).status, path).toBe(404);
  } finally {
    branded.close();
  }
  // Without settings, nothing is branded.
  expect((await ask('/console/logo')).status).toBe(404);
  expect((await ask('/machines', BROWSER)).body.toString()).toBe(HTML);
});

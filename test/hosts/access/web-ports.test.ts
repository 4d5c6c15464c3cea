import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Answer, follow, open, upload, visit } from '../../support/access/visit.js';
import { DOMAIN, WebFleet } from '../../support/access/web-fleet.js';
import { whileBusy } from '../../support/busy.js';
import { openChromium } from '../../support/chromium.js';
import { gpu } from '../../support/cli/gpu.js';
import { subscribe } from '../../support/events.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { folder } from '../../support/process.js';
import { needs } from '../../support/tools.js';
import { until } from '../../support/until.js';
import { send } from '../../support/wire.js';

const NOWHERE = `i-00000000.${DOMAIN}`;
const MB = 1_048_576;
/** Bytes transferred in the memory tests: twice the permitted growth of the gateway's memory. */
const MANY_BYTES = 100 * MB;
const WARM_UP_BYTES = 30 * MB;
const MORE_MEMORY_MB = 50;

describe('web access to a real container, through two gateways', needsEngine('podman', 'ldd'), () => {
  let web: WebFleet;
  /** Cookie that grants access to the first port. */
  let cookie: string;
  let host: string;

  beforeAll(async () => {
    web = await WebFleet.open();
    host = web.hostOf();
    cookie = await follow(web.gateways[0]!, await web.link());
    await until('the server inside listens', async () => (await get('/echo')).status === 200, 30_000);
  });

  afterAll(() => web?.close());

  const get = (path: string, gateway = web.gateways[0]!) => visit(gateway, host, path, { headers: { cookie } });
  const echoed = async (options: Parameters<typeof visit>[3] & object, gateway = web.gateways[1]!) => {
    const headers = { ...options.headers, cookie: [cookie, ...[options.headers?.cookie ?? []].flat()].join('; ') };
    return JSON.parse((await visit(gateway, host, '/echo?a=b%20c', { ...options, headers })).text);
  };
  const socketTo = (gateway: string, headers: Record<string, string> = { cookie }, path = '/ws') =>
    new WebSocket(`${gateway.replace('http', 'ws')}${path}`, { headers: { host, ...headers } });
  const closed = async (call: () => Promise<unknown>, ended: Promise<unknown>) => {
    const began = performance.now();
    await call();
    await ended;
    return performance.now() - began;
  };
  /** Resolves when an open response ends or is aborted. */
  const over = (answer: IncomingMessage) =>
    new Promise<void>((resolve) =>
      answer
        .on('error', () => {})
        .once('close', resolve)
        .resume(),
    );

  it('relays requests and responses for any method', async () => {
    for (const gateway of web.gateways) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'OPTIONS']) {
        expect(await echoed({ method }, gateway)).toMatchObject({ method, url: '/echo?a=b%20c' });
      }
      const head = await visit(gateway, host, '/download?bytes=5', { method: 'HEAD', headers: { cookie } });
      expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '5', '']);
      expect(await get('/v1/offers', gateway)).toMatchObject({ status: 404, text: 'no such page inside' });
      expect((await visit(gateway, web.hostOf(8080), '/echo', { headers: { cookie } })).status).toBe(200);
    }
    const chunked = { method: 'POST', headers: { cookie, 'transfer-encoding': 'chunked' }, body: 'in pieces' };
    expect((await visit(web.gateways[0]!, host, '/upload', chunked)).text).toBe('9');
  });

  it('hides the gateway’s secrets from the container, but not the visitor’s address', async () => {
    const key = web.renter.key;
    const { headers } = await echoed({
      headers: {
        cookie: 'theirs=1; __Host-gpu_web=x; console=y; also=2',
        authorization: `Bearer ${key}`,
        'x-api-key': key,
        'proxy-authorization': `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-proto': 'https',
        forwarded: 'for=1.2.3.4',
        'x-real-ip': '1.2.3.4',
        connection: 'x-mine, close',
        'x-mine': 'of this connection',
        'x-other': 'kept',
      },
    });
    expect(headers).toEqual({
      host,
      cookie: 'theirs=1; also=2',
      'x-other': 'kept',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': host,
      'x-real-ip': '127.0.0.1',
      connection: 'keep-alive',
    });
    expect((await echoed({ headers: { authorization: 'Bearer theirs' } })).headers.authorization).toBe('Bearer theirs');
  });

  it('keeps a container’s cookies on its own host', async () => {
    const { headers } = await get('/cookies');
    expect(headers['set-cookie']).toEqual(['own=1; Path=/', 'wide=1; Path=/; Secure', 'wider=1']);
    for (const name of ['clear-site-data', 'x-hop', 'x-request-id', 'access-control-allow-origin'])
      expect(headers[name], name).toBeUndefined();
  });

  it('relays WebSocket messages and events as they arrive', async () => {
    for (const gateway of web.gateways) {
      const socket = socketTo(gateway);
      const [hello] = await once(socket, 'message');
      expect(JSON.parse(String(hello)).hello).toMatchObject({ host, upgrade: 'websocket' });
      expect(String(hello)).not.toContain('gpu_web');
      const large = Buffer.alloc(MB, 'b');
      socket.send('text');
      expect(String((await once(socket, 'message'))[0])).toBe('text');
      socket.send(large);
      expect(large.equals((await once(socket, 'message'))[0])).toBe(true);
      socket.close();
      await once(socket, 'close');

      const events = await open(gateway, host, '/events', { headers: { cookie } });
      let text = '';
      events.on('data', (chunk) => {
        text += chunk;
      });
      await until('three events', async () => text.includes('data: 3'), 10_000);
      events.destroy();
      const silent = await open(gateway, host, '/silent-events', { headers: { cookie } });
      expect(silent.headers['content-type']).toBe('text/event-stream');
      silent.destroy();
    }
  });

  it('reports a container’s invalid response and never mixes up responses', async () => {
    const other = await follow(web.gateways[0]!, await web.link(web.renter, 8082));
    const at = (path: string, headers = {}) =>
      visit(web.gateways[0]!, web.hostOf(8082), path, { headers: { cookie: other, ...headers } });
    for (const path of ['/garbage', '/two-lengths', '/long-head', '/switch'])
      expect(await at(path), path).toMatchObject({
        status: 502,
        text: expect.stringContaining('Invalid response'),
      });
    // Extra bytes after a response must not become the response to the next request.
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await at('/stray')).text).toBe('ok');
      expect((await at('/plain')).text).toBe('plain');
    }
    await expect(get('/half')).rejects.toThrow('aborted');
    const nothing = await follow(web.gateways[0]!, await web.link(web.renter, 9999));
    expect(await visit(web.gateways[1]!, web.hostOf(9999), '/', { headers: { cookie: nothing } })).toMatchObject({
      status: 502,
      text: expect.stringContaining('Nothing is listening on this port'),
    });
    expect((await get('/echo')).status).toBe(200);
  });

  it('shows uninvited visitors the same page, whether or not the instance exists', async () => {
    const [first] = web.gateways;
    const nothing = await visit(first!, NOWHERE, '/');
    expect(nothing).toMatchObject({ status: 404, text: expect.stringContaining('Nothing to see here') });
    expect(nothing.text).not.toContain('i-00000000');
    const otherPort = await follow(first!, await web.link(web.renter, 8081));
    const used = await web.link();
    await follow(first!, used);
    const unused = await web.link();
    const pass = (link: URL) => link.searchParams.get('pass')!;
    const late = { link: await web.link(), cookie: await follow(first!, await web.link()) };
    await web.expire(pass(late.link), late.cookie.split('=')[1]!);
    const linkAt = (host: string, link: URL): [string, string, object] => [host, link.pathname + link.search, {}];
    const refusedLink = await visit(first!, NOWHERE, linkAt('', used)[1]);
    expect(refusedLink).toMatchObject({ status: 403, text: expect.stringContaining('This link is not valid') });
    const site = { cookie, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
    const attempts: Record<string, [Answer, string, string, object]> = {
      'no cookie': [nothing, host, '/', {}],
      'a made-up cookie': [nothing, host, '/', { cookie: `gpu_web=${'a'.repeat(43)}` }],
      'the cookie of another port': [nothing, host, '/', { cookie: otherPort }],
      'this cookie at another port': [nothing, web.hostOf(8081), '/', { cookie }],
      'this cookie at another instance': [nothing, NOWHERE, '/', { cookie }],
      'this cookie at no instance': [nothing, `i-1.${DOMAIN}`, '/', { cookie }],
      'this cookie below the instance': [nothing, `a.${host}`, '/', { cookie }],
      'a link as a cookie': [nothing, host, '/', { cookie: `gpu_web=${pass(unused)}` }],
      'a stranger’s key': [nothing, host, '/', { authorization: `Bearer ${web.stranger.key}` }],
      'the owner’s key': [nothing, host, '/', { authorization: `Bearer ${web.renter.key}` }],
      'the page of another site': [nothing, host, '/', { cookie, origin: 'http://evil.example' }],
      'the page of another instance': [nothing, host, '/', { cookie, origin: `http://${NOWHERE}` }],
      'a picture on another instance’s page': [nothing, host, '/', site],
      'a cookie whose day is over': [nothing, host, '/', { cookie: late.cookie }],
      'a link whose minute is over': [refusedLink, ...linkAt(host, late.link)],
      'a used link': [refusedLink, ...linkAt(host, used)],
      'a link at another port': [refusedLink, ...linkAt(web.hostOf(8081), unused)],
      'a link at another instance': [refusedLink, ...linkAt(NOWHERE, unused)],
      'a cookie as a link': [refusedLink, host, `/.gpu/open?pass=${cookie.split('=')[1]}`, {}],
    };
    for (const gateway of web.gateways) {
      for (const [name, [expected, at, path, headers]] of Object.entries(attempts)) {
        const { status, text, headers: told } = await visit(gateway, at, path, { headers: { ...headers } });
        expect([status, text, told['set-cookie']], `${name} at ${gateway}`).toEqual([
          expected.status,
          expected.text,
          undefined,
        ]);
      }
      const socket = socketTo(gateway, {});
      const [error] = await once(socket, 'error');
      expect(String(error)).toContain('404');
      const foreign = socketTo(gateway, { cookie, origin: `http://${NOWHERE}` });
      expect(String((await once(foreign, 'error'))[0])).toContain('404');
    }
    for (const field of [
      'openPort(id: $id, port: 8080) { id }',
      'closePort(id: $id, port: 8080) { id }',
      'webLink(id: $id) { url }',
    ]) {
      const { body } = await web.stranger.graphql(`mutation ($id: ID!) { ${field} }`, { id: web.instanceId });
      expect(body.errors[0].extensions.code, field).toBe('not_found');
    }
    // None of this used up the link. Its owner is still admitted, and permitted cross-site requests succeed.
    await follow(web.gateways[1]!, unused);
    const fromMail = {
      ...site,
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect((await visit(first!, host, '/', { headers: fromMail })).status).toBe(200);
    expect((await visit(first!, host, '/', { headers: { cookie, origin: `http://${web.hostOf(8081)}` } })).status).toBe(
      200,
    );
  });

  it('can be public, and closes a port’s connections when the port becomes private', async () => {
    const change = (field: string) =>
      web.query(`mutation { ${field}(id: "${web.instanceId}", port: 8081) { ports { port url open } webUrl } }`);
    const gatewayPort = new URL(web.gateways[0]!).port;
    const { ports, webUrl } = (await change('openPort')).openPort;
    expect(webUrl).toBe(`http://${host}:${gatewayPort}`);
    expect(ports).toEqual([
      { port: 8080, url: webUrl, open: false },
      { port: 8081, url: `http://${web.hostOf(8081)}:${gatewayPort}`, open: true },
    ]);
    for (const gateway of web.gateways)
      await until(
        'it is open',
        async () => (await visit(gateway, web.hostOf(8081), '/')).text === 'the second port',
        5_000,
      );
    await change('closePort');
    for (const gateway of web.gateways)
      await until('it is closed', async () => (await visit(gateway, web.hostOf(8081), '/')).status === 404, 5_000);
    await web.query(`mutation { openPort(id: "${web.instanceId}", port: 8080) { id } }`);
    const streams = await Promise.all(web.gateways.map((gateway) => openUntil200(gateway)));
    const ended = Promise.all(streams.map(over));
    const ms = await closed(
      () => web.query(`mutation { closePort(id: "${web.instanceId}", port: 8080) { id } }`),
      ended,
    );
    expect(ms).toBeLessThan(whileBusy(2_000));
  });

  const openUntil200 = async (gateway: string): Promise<IncomingMessage> =>
    until(
      'a stream',
      async () => {
        const answer = await open(gateway, host, '/events');
        if (answer.statusCode === 200) return answer;
        answer.destroy();
        return null;
      },
      5_000,
    );

  it('ends a key’s connections within 2 s of the key’s revocation', async () => {
    const { id, renter } = await web.anotherKey();
    const own = await follow(web.gateways[0]!, await web.link(renter));
    const spare = await web.link(renter);
    const open1 = await Promise.all(
      web.gateways.flatMap((gateway) => [
        open(gateway, host, '/events', { headers: { cookie: own } }).then((answer) => ({ ended: over(answer) })),
        (async () => {
          const socket = socketTo(gateway, { cookie: own });
          await once(socket, 'message');
          return { ended: once(socket, 'close') };
        })(),
      ]),
    );
    const ended = Promise.all(open1.map((each) => each.ended));
    const ms = await closed(() => web.query(`mutation { revokeApiKey(id: "${id}") { id } }`), ended);
    expect(ms).toBeLessThan(whileBusy(2_000));
    for (const gateway of web.gateways) {
      expect((await visit(gateway, host, '/', { headers: { cookie: own } })).status).toBe(404);
      expect((await visit(gateway, host, spare.pathname + spare.search)).status).toBe(403);
      expect((await get('/echo', gateway)).status).toBe(200);
    }
  });

  it('applies the gateway’s rules to hostile Host headers and smuggled requests', async () => {
    const [gateway] = web.gateways;
    const raw = (head: string[], body = '') => send(gateway!, `${head.join('\r\n')}\r\n\r\n${body}`);
    const status = async (given: string, path = '/v1/gpus/pricing') =>
      (await raw([`GET ${path} HTTP/1.1`, `Host: ${given}`, `Cookie: ${cookie}`, 'Connection: close'])).status;
    // These are other spellings of the same instance's host.
    for (const given of [host.toUpperCase(), `${host}.`, `${host}:80`, `${host}.:4000`])
      expect(await status(given, '/echo'), given).toBe(200);
    // Hosts without an instance get a plain page, never the gateway's own responses.
    for (const given of [
      `i-zzz.${DOMAIN}`,
      `${web.instanceId}-0.${DOMAIN}`,
      `${web.instanceId}-65536.${DOMAIN}`,
      `x.${host}`,
      `x${host}`,
      `www.${DOMAIN}`,
    ])
      expect(await status(given), given).toBe(404);
    // These hosts are the gateway itself.
    for (const given of ['[::1]:4000', '127.0.0.1', DOMAIN, `${host}.evil.example`])
      expect(await status(given), given).toBe(200);
    for (const given of [`${'i'.repeat(10_000)}.${DOMAIN}`, `${host} `.repeat(2), `${host}/x`, `${host}@evil`])
      expect([200, 400], given).toContain(await status(given));
    expect(await status(`${'a.'.repeat(5_000)}${host}`)).not.toBe(500);

    const get = (...more: string[]) => ['GET /echo HTTP/1.1', `Host: ${host}`, `Cookie: ${cookie}`, ...more];
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
    const inside = `GET /echo?smuggled HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`;
    const refused: Record<string, [string[], string]> = {
      'two lengths': [get('Content-Length: 4', 'Content-Length: 5'), 'abcde'],
      'a length and chunks': [get('Content-Length: 4', 'Transfer-Encoding: chunked'), '0\r\n\r\n'],
      'another coding': [get('Transfer-Encoding: gzip, chunked'), '0\r\n\r\n'],
      'chunks that are not': [get('Transfer-Encoding: chunked, identity'), '0\r\n\r\n'],
      'a host in the target': [['GET http://evil.example/ HTTP/1.1', `Host: ${host}`, `Cookie: ${cookie}`], ''],
      'two hosts': [get('Host: evil.example'), ''],
      'an upgrade with a body': [get(...upgrade, `Content-Length: ${inside.length}`), inside],
      'an upgrade with chunks': [get(...upgrade, 'Transfer-Encoding: chunked'), `0\r\n\r\n${inside}`],
    };
    for (const [name, [head, body]] of Object.entries(refused)) {
      const answer = await raw(head, body);
      expect(answer.status, name).toBe(400);
      expect(answer.text, name).not.toContain('smuggled');
    }
    // If the container doesn't switch protocols, the bytes that follow aren't treated as a second request.
    const unswitched = await raw(get(...upgrade, 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'), inside);
    expect(unswitched.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    // A request that offers another protocol is treated as an ordinary one.
    expect((await raw(get('Connection: Upgrade, close', 'Upgrade: h2c'))).status).toBe(200);
  });

  it('serves a hundred concurrent requests and isn’t blocked by a stalled reader', async () => {
    const stalled = await open(web.gateways[0]!, host, `/download?bytes=${1_000 * MB}`, { headers: { cookie } });
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => get('/late', web.gateways[index % 2])));
    expect(answers.map(({ text }) => text)).toEqual(Array(100).fill('late'));
    stalled.destroy();
  });

  it('relays large bodies both ways in bounded memory', async () => {
    // Any load grows the heap's young generation once. The measurement starts after that.
    await upload(web.gateways[0]!, host, '/upload', { cookie }, WARM_UP_BYTES);
    const before = memoryMb(web.fleet.gatewayPid);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, memoryMb(web.fleet.gatewayPid));
    }, 50);
    const stalled = await open(web.gateways[0]!, host, `/download?bytes=${1_000 * MB}`, { headers: { cookie } });
    expect(await upload(web.gateways[0]!, host, '/upload', { cookie }, MANY_BYTES)).toBe(String(MANY_BYTES));
    const down = await open(web.gateways[0]!, host, `/download?bytes=${MANY_BYTES}`, { headers: { cookie } });
    let bytes = 0;
    for await (const chunk of down) bytes += (chunk as Buffer).length;
    clearInterval(watch);
    stalled.destroy();
    expect(bytes).toBe(MANY_BYTES);
    expect(most - before, `from ${before} MB to ${most} MB`).toBeLessThan(MORE_MEMORY_MB);
  });

  it('can be opened through a link in a browser and with curl', needs('chromium', 'curl'), async () => {
    const link = await web.link(web.renter, undefined, '/');
    expect(link.hostname).toBe(host);
    const browser = await openChromium();
    const page = await browser.newPage();
    await page.goto(link.href);
    expect(await page.textContent('h1')).toBe('from inside');
    await page.waitForFunction(() => document.title !== 'from inside');
    expect(await page.title()).toBe('cookie: none');
    expect(page.url()).toBe(`http://${link.host}/`);
    const [stored] = await page.context().cookies();
    expect(stored).toMatchObject({ name: 'gpu_web', domain: host, httpOnly: true, sameSite: 'Lax', path: '/' });
    // A neighbouring port is another site and gets neither the cookie nor the page.
    await page.goto(`http://${web.hostOf(8081)}:${link.port}/`);
    expect(await page.textContent('h1')).toBe('Nothing to see here');
    await browser.close();
    const jar = join(folder(), 'cookies');
    const { href } = await web.link();
    const { stdout } = await promisify(execFile)('curl', ['-sSL', '-c', jar, '-b', jar, href]);
    expect(stdout).toContain('from inside');
    expect(readFileSync(jar, 'utf8')).toContain(`#HttpOnly_${host}`);
  });

  it('shows and follows the container’s output', async () => {
    const query = (tail: number) => `{ instanceLogs(id: "${web.instanceId}", tail: ${tail}) { time stream text } }`;
    const logged = (line: string) =>
      until(`${line} is logged`, async () => (await web.query(query(1))).instanceLogs[0]?.text === line, 10_000);
    // They are written one at a time, since the order of the two streams depends on the engine.
    await get('/log?out=one');
    await logged('one');
    await get('/log?err=two');
    await logged('two');
    await get(`/log?out=${encodeURIComponent('drei \u{1f600}')}`);
    const lines = await until(
      'the lines are there',
      async () => {
        const { instanceLogs } = await web.query(query(3));
        return instanceLogs.at(-1)?.text === 'drei \u{1f600}' ? instanceLogs : null;
      },
      10_000,
    );
    expect(lines.map(({ stream, text }: Record<string, string>) => `${stream} ${text}`)).toEqual([
      'STDOUT one',
      'STDERR two',
      'STDOUT drei \u{1f600}',
    ]);
    for (const { time } of lines) expect(time).toMatch(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    const follow = `subscription { instanceLogged(id: "${web.instanceId}", tail: 1) { text } }`;
    for (const gateway of web.gateways) {
      const events = await subscribe(gateway, follow, { key: web.renter.key });
      expect(await events.next()).toEqual([{ text: 'drei \u{1f600}' }]);
      await get('/log?err=more');
      const told: string[] = [];
      while (!told.includes('more')) told.push(...(await events.next()).map(({ text }: { text: string }) => text));
      events.abort();
      await get(`/log?out=${encodeURIComponent('drei \u{1f600}')}`);
      await until(
        'it is logged',
        async () => (await web.query(query(1))).instanceLogs[0].text.startsWith('drei'),
        10_000,
      );
    }
    for (const gateway of web.gateways) {
      const stranger = await subscribe(gateway, follow, { key: web.stranger.key });
      await until('a refusal', async () => stranger.text().includes('not_found'), 10_000);
    }
    const { body } = await web.stranger.graphql(query(1));
    expect(body.errors[0].extensions.code).toBe('not_found');
    const env = { GPU_API_KEY: web.renter.key, GPU_BASE_URL: `${web.gateways[0]}/v1` };
    const [printed, opened] = await Promise.all([
      gpu(['logs', web.instanceId, '--tail', '2'], env),
      gpu(['open', web.instanceId, '--port', '8081'], env),
    ]);
    expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining('drei \u{1f600}\n') });
    expect(opened).toMatchObject({ code: 0, stdout: expect.stringContaining(`http://${web.hostOf(8081)}:`) });
  });

  it('ends with the agent and works again through the next one', async () => {
    const stream = await open(web.gateways[0]!, host, '/events', { headers: { cookie } });
    const ended = over(stream);
    await web.host.end('SIGKILL');
    await ended;
    const { body } = await web.renter.graphql(`{ instanceLogs(id: "${web.instanceId}") { text } }`);
    expect(body.errors[0].extensions.code).toBe('unavailable');
    web.host.start();
    await until('it is served again', async () => (await get('/echo')).status === 200, 40_000);
  });

  it('ends immediately with the instance, except for access to the log', async () => {
    const { id, renter } = await web.anotherKey();
    const events = await subscribe(
      web.gateways[1]!,
      `subscription { instanceLogged(id: "${web.instanceId}", tail: 0) { text } }`,
      { key: renter.key },
    );
    const sockets = web.gateways.map((gateway) => socketTo(gateway));
    await Promise.all(sockets.map((socket) => once(socket, 'message')));
    const ended = Promise.all(sockets.map((socket) => once(socket, 'close')));
    const act = (action: string) => web.renter.rest('POST', `/instances/${web.instanceId}/actions`, { action });
    expect(await closed(() => act('stop'), ended)).toBeLessThan(whileBusy(2_000));
    for (const gateway of web.gateways) {
      const page = await until(
        'the page says so',
        async () => {
          const answer = await get('/', gateway);
          return answer.status === 503 ? answer : null;
        },
        5_000,
      );
      expect(page.text).toContain('The instance is stopped');
      expect((await visit(gateway, host, '/')).text).toContain('Nothing to see here');
    }
    const { instanceLogs } = await web.query(`{ instanceLogs(id: "${web.instanceId}", tail: 1000) { text } }`);
    expect(instanceLogs.map(({ text }: { text: string }) => text)).toContain('more');
    await act('start');
    await web.running();
    await until('it is served again', async () => (await get('/echo')).status === 200, 20_000);
    await get('/log?out=after-the-start');
    for (let told = ''; !told.includes('after-the-start'); ) told = JSON.stringify(await events.next());
    await web.query(`mutation { revokeApiKey(id: "${id}") { id } }`);
    let last: string;
    do last = JSON.stringify(await events.next());
    while (!last.includes('unauthorized') && last !== '"complete"');
    expect(last).toContain('unauthorized');
    await web.renter.rest('DELETE', `/instances/${web.instanceId}`);
    for (const gateway of web.gateways)
      await until('it is gone', async () => (await get('/', gateway)).status === 404, 5_000);
  });
});

function memoryMb(pid: number): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Math.round(Number(kb) / 1_024);
}

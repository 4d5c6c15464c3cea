import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstEvent } from '../../../src/access/ssh/first-event.js';
import { WebFleet } from '../../support/access/web-fleet.js';
import type { Renter } from '../../support/gateway.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { until } from '../../support/until.js';

const LARGE_BYTES = 200_000_000;
const PIECE = randomBytes(1_000_000);
/** Maximum growth of the gateway's memory, regardless of a file's size. */
const MORE_MEMORY_KB = 120_000;
const AT = '/workspace';

describe('file access to a real container', needsEngine('podman'), () => {
  let web: WebFleet;
  let mine: Session;

  beforeAll(async () => {
    web = await WebFleet.open();
    mine = await Session.of(web, web.renter);
    await inside(`mkdir -p ${AT}`);
  });
  afterAll(() => web?.close());

  async function inside(command: string): Promise<string> {
    const { code, text } = await web.fleet.engine.exec(web.instanceId, '/bin/sh', '-c', command);
    if (code !== 0) throw new Error(`${command}: ${code}: ${text}`);
    return text;
  }

  it('transfers 200 MB each way unchanged and in bounded memory', async () => {
    const before = peakMemoryKb(web.fleet.gatewayPid);
    const sent = createHash('sha256');
    async function* pieces() {
      for (let left = LARGE_BYTES; left > 0; left -= PIECE.length) {
        // No two pieces of the file are equal.
        PIECE.writeUInt32LE(left, 0);
        const piece = Buffer.from(PIECE.subarray(0, Math.min(left, PIECE.length)));
        sent.update(piece);
        yield piece;
      }
    }
    expect(await mine.upload(`${AT}/large.bin`, pieces(), LARGE_BYTES)).toBe(201);
    const digest = sent.digest('hex');
    expect(await inside(`sha256sum < ${AT}/large.bin`)).toContain(digest);
    const answer = await mine.get('file', `${AT}/large.bin`);
    expect(answer.headers.get('content-length')).toBe(String(LARGE_BYTES));
    const received = createHash('sha256');
    for await (const chunk of Readable.fromWeb(answer.body as WebStream)) received.update(chunk as Buffer);
    expect(received.digest('hex')).toBe(digest);
    const more = peakMemoryKb(web.fleet.gatewayPid) - before;
    console.log(`gateway: ${before} kB, ${more} kB more`);
    expect(more).toBeLessThan(MORE_MEMORY_KB);
  });

  it("lists files with any kind of name, and finds each one by the name's bytes", async () => {
    const names = [
      'plain.txt',
      'two\nlines\n',
      ' -rf *',
      'quote\'"`$(touch stolen)`',
      '\\0101%41+&=#?',
      '\u202egnp.exe',
      '\u009b31m',
      'x'.repeat(255),
    ].map((name) => Buffer.from(name));
    names.push(Buffer.from([0xff, 0x2d, 0xc3, 0x28]));
    for (const [place, name] of names.entries()) {
      const path = Buffer.concat([Buffer.from(`${AT}/names/`), name]);
      if (place === 0) expect((await mine.call('POST', 'folder', `${AT}/names`)).status).toBe(201);
      const text = `of ${place}`;
      expect(await mine.uploaded(path, [Buffer.from(text)], text.length)).toEqual({ status: 201, text: '{}' });
    }
    const { entries, isWhole } = await mine.list(`${AT}/names`);
    expect(isWhole).toBe(true);
    expect(entries.map(({ encoded }) => encoded).sort()).toEqual(names.map(encode).sort());
    for (const [place, name] of names.entries()) {
      const entry = entries.find(({ encoded }) => encoded === encode(name))!;
      expect(entry).toMatchObject({ name: name.toString('utf8'), kind: 'file', isLink: false, size: 4 });
      const answer = await mine.raw('GET', `file=${encode(Buffer.from(`${AT}/names/`))}${entry.encoded}`);
      expect(await answer.text()).toBe(`of ${place}`);
      expect((await mine.raw('DELETE', `file=${AT}/names/${entry.encoded}`)).status).toBe(204);
    }
    expect(await mine.list(`${AT}/names`)).toEqual({ entries: [], isWhole: true });
    expect((await mine.call('DELETE', 'folder', `${AT}/names`)).status).toBe(204);
    expect(await inside(`ls / ${AT} | grep -c stolen || true`)).toContain('0');
  });

  it('distinguishes links, folders and special files', async () => {
    await inside(`mkdir -p ${AT}/kinds/folder && cd ${AT}/kinds && echo 12345 > file && touch -d @1000000000 file &&
      ln -s folder to-folder && ln -s file to-file && ln -s nowhere dangling && mkfifo pipe`);
    const { entries } = await mine.list(`${AT}/kinds`);
    const kinds = Object.fromEntries(
      entries.map(({ name, kind, isLink }) => [name, `${kind}${isLink ? ' link' : ''}`]),
    );
    expect(kinds).toEqual({
      folder: 'folder',
      file: 'file',
      'to-folder': 'folder link',
      'to-file': 'file link',
      dangling: 'link link',
      pipe: 'other',
    });
    expect(entries.find(({ name }) => name === 'file')).toMatchObject({ size: 6, modifiedAt: '2001-09-09T01:46:40Z' });
    expect(await (await mine.get('file', `${AT}/kinds/to-file`)).text()).toBe('12345\n');
    expect((await mine.list(`${AT}/kinds/to-folder`)).entries).toEqual([]);
    // Only the link is deleted. Its target remains.
    expect((await mine.call('DELETE', 'file', `${AT}/kinds/to-folder`)).status).toBe(204);
    await inside(`[ -d ${AT}/kinds/folder ]`);
  });

  it('lists only the first 5,000 entries of a larger folder and reports the truncation', async () => {
    await inside(`mkdir -p ${AT}/many && cd ${AT}/many && seq 1 6000 | xargs touch`);
    const { entries, isWhole } = await mine.list(`${AT}/many`);
    expect([entries.length, isWhole]).toEqual([5_000, false]);
    expect(new Set(entries.map(({ name }) => name)).size).toBe(5_000);
  });

  it('reports why a request is refused', async () => {
    await inside(`mkdir -p ${AT}/full && echo there > ${AT}/full/file`);
    const small = (path: string, query = '') => mine.upload(path, [Buffer.from('new')], 3, query);
    const refusals = [
      await mine.refusal('GET', 'folder', '/nowhere'),
      await mine.refusal('GET', 'folder', `${AT}/full/file`),
      await mine.refusal('GET', 'file', '/nowhere'),
      await mine.refusal('GET', 'file', AT),
      await mine.refusal('GET', 'file', '/dev/zero'),
      await mine.refusal('GET', 'file', `${AT}/kinds/pipe`),
      await mine.refusal('GET', 'file', 'relative'),
      await mine.refusal('GET', 'file', `${AT}/a\0b`),
      await mine.refusal('DELETE', 'folder', `${AT}/full`),
      await mine.refusal('DELETE', 'file', `${AT}/full`),
      await mine.refusal('DELETE', 'folder', `${AT}/full/file`),
      await mine.refusal('DELETE', 'file', `${AT}/..`),
      await mine.refusal('POST', 'folder', `${AT}/full/file`),
      await mine.refusal('POST', 'folder', `${AT}/full/file/below`),
      await mine.refusal('POST', 'folder', '/nowhere/below'),
    ];
    expect(refusals).toEqual([
      '404 there is no /nowhere',
      `409 ${AT}/full/file: not a folder`,
      '404 there is no /nowhere',
      `409 ${AT}: is a folder`,
      '409 /dev/zero: not a regular file',
      `409 ${AT}/kinds/pipe: not a regular file`,
      '422 path must begin with /',
      '422 path must not contain NUL bytes',
      `409 ${AT}/full: folder is not empty`,
      `409 ${AT}/full: is a folder`,
      `409 ${AT}/full/file: not a folder`,
      '422 path must end with a name of 1 to 255 bytes that is neither . nor ..',
      `409 ${AT}/full/file: already exists`,
      `409 ${AT}/full/file/below: not a folder`,
      '404 there is no /nowhere/below',
    ]);
    expect(await small(`${AT}/full/file`)).toBe(409);
    expect(await inside(`cat ${AT}/full/file`)).toContain('there');
    await inside(`chmod 750 ${AT}/full/file`);
    expect(await small(`${AT}/full/file`, '&replace=true')).toBe(201);
    expect(await inside(`cat ${AT}/full/file; stat -c %a ${AT}/full/file`)).toMatch(/new\s*750/);
    expect(await small(AT, '&replace=true')).toBe(409);
    expect(await small(`${AT}/nowhere/file`)).toBe(404);
  });

  it('leaves no trace of a cancelled, interrupted or oversized upload', async () => {
    await inside(`mkdir -p ${AT}/partly`);
    const gone = new AbortController();
    async function* never() {
      yield PIECE;
      await until('it has begun', async () => (await inside(`ls -A ${AT}/partly`)).includes('.gpu-upload-'), 30_000);
      gone.abort();
      yield PIECE;
    }
    await expect(mine.upload(`${AT}/partly/file`, never(), LARGE_BYTES, '', gone.signal)).rejects.toThrow();
    await until('nothing is left', async () => (await inside(`ls -A ${AT}/partly`)).trim() === '', 30_000);
    // The test mounts this 4 MB disk, because a container can't create one itself.
    const small = `${AT}/small`;
    await inside(`mkdir -p ${small}`);
    const { docker } = web.fleet.engine;
    const { name } = (await web.fleet.engine.containers()).get(web.instanceId)!;
    const { State } = await docker.getContainer(name.replace(/^\//, '')).inspect();
    execFileSync('nsenter', [
      '-t',
      String(State.Pid),
      '-m',
      '/bin/busybox',
      'mount',
      '-t',
      'tmpfs',
      '-o',
      'size=4m',
      'tmpfs',
      small,
    ]);
    const tooMuch = Array.from({ length: 100 }, () => PIECE);
    expect(await mine.uploaded(`${small}/file`, tooMuch, 100 * PIECE.length)).toEqual({
      status: 409,
      text: expect.stringContaining(`${small}/file: no space left`),
    });
    expect((await mine.list(small)).entries).toEqual([]);
  });

  it('sends any file as a download, regardless of its content', async () => {
    await inside(`printf '<script>alert(1)</script>' > '${AT}/page.html'`);
    const { headers } = await mine.get('file', `${AT}/page.html`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-disposition': 'attachment; filename=page.html',
      'content-type': 'application/octet-stream',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });

  it("requires the account's session, the scope and one of the gateway's own pages", async () => {
    await inside(`echo secret > ${AT}/secret`);
    const stranger = await Session.of(web, web.stranger);
    expect(await stranger.refusal('GET', 'file', `${AT}/secret`)).toMatch(/^404 no such instance/);
    expect(await stranger.refusal('GET', 'folder', AT)).toMatch(/^404 /);
    expect(await stranger.upload(`${AT}/stolen`, [PIECE], PIECE.length)).toBe(404);
    const path = `/console/files/${web.instanceId}?file=${AT}/secret`;
    const { key } = web.renter;
    const withHeaders = async (headers: Record<string, string>, method = 'GET') =>
      (await fetch(web.fleet.address + path, { method, headers })).status;
    const { cookie } = mine;
    const origin = web.fleet.address;
    expect(await withHeaders({})).toBe(401);
    expect(await withHeaders({ authorization: `Bearer ${key}` })).toBe(401);
    expect(await withHeaders({ cookie, 'sec-fetch-site': 'cross-site' })).toBe(401);
    expect(await withHeaders({ cookie, 'sec-fetch-site': 'same-site' })).toBe(401);
    expect(await withHeaders({ cookie }, 'DELETE')).toBe(401);
    expect(await withHeaders({ cookie, origin: 'https://elsewhere.example' }, 'DELETE')).toBe(401);
    expect(await withHeaders({ cookie, origin: `http://${web.hostOf()}` }, 'PUT')).toBe(401);
    expect(await withHeaders({ cookie, origin }, 'PATCH')).toBe(405);
    const { createApiKey } = await web.query('mutation { createApiKey(scopes: [READ, RENT, MONEY, KEYS]) { secret } }');
    const unable = await Session.of(web, { ...web.renter, key: createApiKey.secret } as Renter);
    expect(await unable.refusal('GET', 'file', `${AT}/secret`)).toMatch(/^403 .*access/);
    expect(await withHeaders({ cookie, 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(await inside(`ls ${AT}`)).not.toContain('stolen');
  });

  it('ends in-flight transfers when the session ends', async () => {
    const other = await Session.of(web, web.renter);
    await inside(`[ -s ${AT}/large.bin ] || dd if=/dev/zero of=${AT}/large.bin bs=1000000 count=200 2>/dev/null`);
    const before = tunnelsIn(web.fleet.gatewayOutput);
    const answer = await other.get('file', `${AT}/large.bin`);
    const reader = answer.body!.getReader();
    await reader.read();
    expect(await other.signOut()).toBe(204);
    await until('its tunnel is gone', async () => tunnelsIn(web.fleet.gatewayOutput) > before, 30_000);
    // Bytes in flight still arrive, but not the whole file.
    const rest = (async () => {
      for (;;) if ((await reader.read()).done) return;
    })();
    await expect(rest).rejects.toThrow();
  });

  it('limits concurrent requests to a container whose programs never exit', async () => {
    await inside(`mkdir /real && cp -L /bin/sh /real/sh && : > /tmp/begun && cat > /tmp/sh << 'END'
#!/real/sh
case "$2" in *mindepth*) echo >> /tmp/begun; exec sleep 3000 ;; esac
exec /real/sh "$@"
END
      chmod +x /tmp/sh && mv /tmp/sh /bin/sh`);
    const gone = new AbortController();
    const asked = Array.from({ length: 40 }, () => mine.raw('GET', `folder=${AT}`, gone.signal));
    const first = await Promise.race(asked);
    expect([first.status, await first.text()]).toEqual([503, expect.stringContaining('too many concurrent transfers')]);
    await until('some have begun', async () => Number(/\d+/.exec(await inside('wc -l < /tmp/begun'))![0]) > 0, 30_000);
    expect(Number(/\d+/.exec(await inside('wc -l < /tmp/begun'))![0])).toBeLessThanOrEqual(4);
    gone.abort();
    await Promise.allSettled(asked);
    await inside('cp /real/sh /bin/real-sh && mv /bin/real-sh /bin/sh');
    expect((await mine.list(AT)).isWhole).toBe(true);
  });

  it('sends the whole stored log, optionally with times and streams', async () => {
    const link = await web.link(web.renter, 8080, '/log?err=to%20standard%20error');
    await fetch(`${web.fleet.address}${link.pathname}${link.search}`, { headers: { host: link.host } }).catch(() => {});
    const answer = await mine.log('');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename=${web.instanceId}.log`);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await answer.text()).toMatch(/^listens\n/);
    expect(await (await mine.log('?times=true')).text()).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z out listens\n/);
    const stranger = await Session.of(web, web.stranger);
    expect((await stranger.log('')).status).toBe(404);
  });

  it("is refused for a stopped instance's files, but not for its log", async () => {
    await web.query(`mutation { action(id: "${web.instanceId}", action: STOP) { id } }`);
    expect(await mine.refusal('GET', 'folder', AT)).toMatch(/^409 .*is stopped/);
    expect(await (await mine.log('')).text()).toMatch(/^listens\n/);
  });
});

interface Entry {
  name: string;
  encoded: string;
  kind: string;
  isLink: boolean;
  size: number;
  modifiedAt: string | null;
}

type Path = string | Buffer;

/** Sends requests like a browser with a session. */
class Session {
  private constructor(
    readonly web: WebFleet,
    readonly cookie: string,
  ) {}

  static async of(web: WebFleet, { key }: Renter): Promise<Session> {
    const origin = web.fleet.address;
    const answer = await fetch(`${origin}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ key }),
    });
    return new Session(web, answer.headers.getSetCookie()[0]!.split(';')[0]!);
  }

  raw(method: string, query: string, signal?: AbortSignal): Promise<Response> {
    const { web, cookie } = this;
    const origin = web.fleet.address;
    const of = { method, headers: { cookie, origin }, ...(signal && { signal }) };
    return fetch(`${origin}/console/files/${web.instanceId}?${query}`, of);
  }

  call(method: string, kind: 'file' | 'folder', path: Path): Promise<Response> {
    return this.raw(method, `${kind}=${encode(path)}`);
  }

  get(kind: 'file' | 'folder', path: Path): Promise<Response> {
    return this.call('GET', kind, path);
  }

  async list(path: Path): Promise<{ entries: Entry[]; isWhole: boolean }> {
    const answer = await this.get('folder', path);
    expect(answer.status).toBe(200);
    return (await answer.json()) as { entries: Entry[]; isWhole: boolean };
  }

  async refusal(method: string, kind: 'file' | 'folder', path: Path): Promise<string> {
    const answer = await this.call(method, kind, path);
    const body = (await answer.json()) as { error: { message: string } };
    return `${answer.status} ${body.error?.message}`;
  }

  log(query: string): Promise<Response> {
    const { web, cookie } = this;
    return fetch(`${web.fleet.address}/console/logs/${web.instanceId}${query}`, { headers: { cookie } });
  }

  async signOut(): Promise<number> {
    const origin = this.web.fleet.address;
    return (await fetch(`${origin}/console/session`, { method: 'DELETE', headers: { cookie: this.cookie, origin } }))
      .status;
  }

  async upload(path: Path, body: Body, size: number, query = '', signal?: AbortSignal): Promise<number> {
    return (await this.uploaded(path, body, size, query, signal)).status;
  }

  /** Sends a file with its length, as a browser does. */
  uploaded(path: Path, body: Body, size: number, query = '', signal?: AbortSignal) {
    const { web, cookie } = this;
    const origin = web.fleet.address;
    return new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sending = httpRequest(
        `${origin}/console/files/${web.instanceId}?file=${encode(path)}${query}`,
        { method: 'PUT', headers: { cookie, origin, 'content-length': String(size) }, ...(signal && { signal }) },
        (answer) => {
          let text = '';
          answer.on('data', (chunk) => {
            text += chunk;
          });
          answer.on('end', () => resolve({ status: answer.statusCode!, text }));
        },
      );
      sending.on('error', reject);
      void (async () => {
        for await (const piece of body) {
          if (sending.destroyed) return;
          if (!sending.write(piece)) await firstEvent(sending, 'drain', 'close');
        }
        sending.end();
      })().catch(reject);
    });
  }
}

/** Returns the number of ended tunnels in the log. */
const tunnelsIn = (log: string) => log.split('tunnel closed').length;

type Body = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Percent-encodes every byte except safe ones. */
function encode(path: Path): string {
  return Buffer.from(path)
    .toString('latin1')
    .replace(/[^A-Za-z0-9._~/-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

function peakMemoryKb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

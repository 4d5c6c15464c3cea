import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { Shells } from '../../../src/agent/tunnels/shells.js';
import {
  type AgentControl,
  agentControl,
  type GatewayControl,
  gatewayControl,
  KEPT_OUTPUT_BYTES,
  MAX_SHELLS_PER_INSTANCE,
  TunnelSocket,
} from '../../../src/agent-protocol/tunnel-protocol.js';
import {
  knock,
  newShell,
  type PageOptions,
  sessionOf,
  TerminalPage,
  type TerminalRequest,
} from '../../support/access/terminal-page.js';
import { createTestDatabase } from '../../support/database.js';
import { type DatabaseWire, openWire } from '../../support/database-wire.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { isRunning, uniqueSleep } from '../../support/hosts/processes.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const SOON_MS = 30_000;
/** Longer than a failover's usual interruption of an agent's polls. */
const OUTAGE_MS = 6_000;
/** Size of the gateway's buffers, in addition to the output that a page may not have shown yet. */
const BUFFERED_BYTES = 1_048_576;

/** Opens a tunnel and returns both ends. */
async function tunnelPair() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const ws = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [accepted] = (await once(server, 'connection')) as [WebSocket];
  const agent = new TunnelSocket<GatewayControl, AgentControl>(ws, gatewayControl);
  const gateway = new TunnelSocket<AgentControl, GatewayControl>(accepted, agentControl);
  for (const end of [agent, gateway]) end.on('error', () => {});
  await until('it is open', () => ws.readyState === ws.OPEN, SOON_MS);
  return { agent, gateway: gateway.resume(), close: () => server.close() };
}

describe('a terminal in a browser', needsEngine('podman'), () => {
  let wire: DatabaseWire;
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let cookie: string;
  let ids: string[];
  const pages: TerminalPage[] = [];

  const open = (asked: Partial<TerminalRequest> = {}, options: PageOptions & { cookie?: string } = {}) => {
    const page = new TerminalPage(fleet.address, options.cookie ?? cookie, { instance: ids[0]!, ...asked }, options);
    pages.push(page);
    return page;
  };
  const graphql = async (query: string) => {
    const { body } = await renter.api.graphql(query);
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data;
  };
  const newKey = async (scopes = ''): Promise<{ id: string; cookie: string }> => {
    const { createApiKey } = await graphql(`mutation { createApiKey${scopes} { apiKey { id } secret } }`);
    return { id: createApiKey.apiKey.id, cookie: await sessionOf(fleet.address, createApiKey.secret) };
  };
  /** Whether the first instance has this file. */
  const isThere = async (path: string) => (await fleet.engine.exec(ids[0]!, 'test', '-e', path)).code === 0;
  const closeAll = async () => {
    for (const page of pages.splice(0)) {
      if (page.closed !== null) continue;
      page.send({ type: 'end' });
      await page.end();
    }
  };

  beforeAll(async () => {
    wire = await openWire(new URL(await createTestDatabase()));
    fleet = await RealFleet.open({ DATABASE_URL: wire.url });
    // Two instances run on one host with one agent.
    host = await fleet.host({}, 2);
    renter = await fleet.renter();
    cookie = await sessionOf(fleet.address, renter.api.key);
    ids = [];
    for (const place of ['g0', 'g1']) {
      const { id } = await renter.deploy(`${host.machineId}.${place}`);
      await renter.phase(id, 'RUNNING');
      ids.push(id);
    }
  });
  afterAll(async () => {
    await fleet?.close();
    await wire?.close();
  });

  it('stays open while the database is unreachable, and its container continues', async () => {
    const page = await open().ready();
    page.type('first=$$; echo begins\n');
    await page.waitForText(/\nbegins\r\n/);
    wire.cut();
    const readiness = async () => (await fetch(new URL('/readyz', fleet.address))).status;
    await until('the gateway has noticed', async () => (await readiness()) === 503, SOON_MS);
    await sleep(OUTAGE_MS);
    page.type('echo during $first\n');
    await page.waitForText(/\nduring \d+\r\n/);
    await wire.mend();
    await until('the gateway is ready', async () => (await readiness()) === 200, SOON_MS);
    page.type('test $first = $$ && echo same $((40 + 2))\n');
    await page.waitForText(/\nsame 42\r\n/);
    expect(page.closed).toBeNull();
    const { instance } = await graphql(`{ instance(id: "${ids[0]}") { status } }`);
    expect(instance.status).toBe('RUNNING');
  });

  it('opens a shell of the page’s size, follows size changes and reports the exit code', async () => {
    const page = await open({ columns: 91, rows: 31 }).ready();
    expect(page.opened).toEqual({ type: 'opened', from: 0, to: 0 });
    page.type('stty size; echo $TERM\n');
    await page.waitForText(/\n31 91\r\nxterm-256color\r\n/);
    for (let columns = 60; columns <= 100; columns += 1) page.send({ type: 'resize', columns, rows: 40 });
    await until(
      'it has its last size',
      () => {
        page.type('stty size\n');
        return page.text.includes('\n40 100\r\n');
      },
      SOON_MS,
    );
    page.type('exit 7\n');
    expect(await page.end()).toEqual({ type: 'exit', code: 7 });
  });

  it('resumes after a lost connection without losing or repeating output', async () => {
    const first = await open().ready();
    first.type('i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); sleep 0.005; done; echo all""done\n');
    await first.waitForText('line 100\r');
    first.lose();
    // Output resumes after what was shown, not after what was sent.
    const second = await open({ shell: first.shell, seen: first.place }).ready();
    expect(second.opened!.from).toBe(first.place);
    await second.waitForText('alldone');
    const lines = (first.text + second.text).split('\r\n').filter((line) => /^line \d/.test(line));
    expect(lines).toEqual(Array.from({ length: 400 }, (_, number) => `line ${number}`));
    // A reloaded page starts at the beginning.
    second.lose();
    const third = await open({ shell: first.shell }).ready();
    await third.waitForText('alldone');
    expect([third.opened!.from, third.text.slice(0, 40)]).toEqual([0, first.text.slice(0, 40)]);
    await closeAll();
  });

  it('keeps running while no page is connected and retains the latest output', async () => {
    const first = await open().ready();
    const shell = first.shell;
    first.type(
      'sleep 1; dd if=/dev/zero bs=1000 count=1000 2>/dev/null | tr "\\0" x; echo; echo and""then; : >/tmp/1\n',
    );
    await first.waitForText('/tmp/1\r\n');
    const before = first.place;
    first.lose();
    await until('the shell has written it', () => isThere('/tmp/1'), SOON_MS, POLL_EVERY_MS);
    const second = await open({ shell, seen: before }).ready();
    await second.waitForText('andthen');
    const { from, to } = second.opened!;
    expect(from).toBeGreaterThanOrEqual(before);
    expect(to - from).toBeLessThanOrEqual(KEPT_OUTPUT_BYTES);
    second.type('exit\n');
    await second.end();
    expect(second.place).toBeGreaterThan(1_000_000);
    // An exit while no page is connected is still reported.
    const third = await open({ shell }).ready();
    third.type('sleep 1; : >/tmp/2; exit 9\n');
    await third.waitForText('exit 9\r\n');
    third.lose();
    await until('it has ended', () => isThere('/tmp/2'), SOON_MS, POLL_EVERY_MS);
    const fourth = open({ shell, seen: third.place });
    expect(await fourth.end()).toEqual({ type: 'exit', code: 9 });
  });

  it('serves one page at a time, which is always the newest', async () => {
    const first = await open().ready();
    first.type('echo mine\n');
    await first.waitForText('\nmine\r\n');
    const second = await open({ shell: first.shell, seen: first.place }).ready();
    expect(await first.end()).toEqual({ type: 'taken' });
    second.type('echo ours\n');
    await second.waitForText('\nours\r\n');
    expect(first.text).not.toContain('ours');
    await closeAll();
  });

  it('sends a page only as much output as it shows, and buffers little of the rest', async () => {
    const page = await open({}, { shows: false }).ready();
    page.type('dd if=/dev/zero bs=1000000 count=8 2>/dev/null | tr "\\0" y; echo; echo and""then\n');
    await until('it was sent all that it has room for', () => page.bytes >= KEPT_OUTPUT_BYTES, SOON_MS);
    const memory = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${fleet.gatewayPid}/status`, 'utf8'))![1]);
    const before = memory();
    // The shell is blocked, so its command can't end.
    let last = -1;
    await until(
      'nothing more comes',
      async () => {
        const isSame = page.bytes === last;
        last = page.bytes;
        await new Promise((resolve) => setTimeout(resolve, 500));
        return isSame;
      },
      SOON_MS,
    );
    expect(page.bytes).toBeLessThan(KEPT_OUTPUT_BYTES + BUFFERED_BYTES);
    expect((memory() - before) * 1_024).toBeLessThan(20 * BUFFERED_BYTES);
    // The gateway doesn't trust an acknowledgement of more than it sent.
    page.send({ type: 'shown', bytes: Number.MAX_SAFE_INTEGER });
    const ended = until('all of it came', () => page.text.includes('andthen'), SOON_MS);
    const showing = setInterval(() => page.send({ type: 'shown', bytes: page.place }), 5);
    await ended.finally(() => clearInterval(showing));
    expect(page.place).toBeGreaterThan(8_000_000);
    await closeAll();
  });

  it('can have at most eight shells per instance, evicting only abandoned ones', async () => {
    const used = [];
    for (let count = 0; count < MAX_SHELLS_PER_INSTANCE; count += 1) used.push(await open().ready());
    expect(await open().end()).toMatchObject({ type: 'refused', reason: 'busy' });
    const [left, ...others] = used as [TerminalPage, ...TerminalPage[]];
    const command = uniqueSleep();
    left.type(`exec ${command}\n`);
    await until('it runs', () => isRunning(command), SOON_MS, POLL_EVERY_MS);
    left.lose();
    const next = await until(
      'there is room',
      async () => {
        const page = open();
        return page.ready().catch(() => null);
      },
      SOON_MS,
    );
    await until('the abandoned shell has ended', () => !isRunning(command), SOON_MS, POLL_EVERY_MS);
    for (const other of [...others, next]) {
      other.type('echo still""here\n');
      await other.waitForText('stillhere');
    }
    await closeAll();
  });

  it('opens a separate shell in each instance, even under the same shell name', async () => {
    const mine = await open().ready();
    mine.type('echo the""secret\n');
    await mine.waitForText('thesecret');
    const guessed = await open({ instance: ids[1]!, shell: mine.shell }).ready();
    guessed.type('echo other""wise\n');
    await guessed.waitForText('otherwise');
    expect([guessed.opened!.to, guessed.text.includes('thesecret')]).toEqual([0, false]);
    mine.type('echo un""touched\n');
    await mine.waitForText('untouched');
    // The name doesn't work in another account's instance either.
    const thief = await fleet.renter();
    const stolen = open({ shell: mine.shell }, { cookie: await sessionOf(fleet.address, thief.api.key) });
    expect(await stolen.end()).toMatchObject({ type: 'refused', reason: 'unknown' });
    expect(mine.closed).toBe(null);
    await closeAll();
  });

  it('admits only the gateway’s own pages, and only with a session', async () => {
    const origin = fleet.address;
    const { host } = new URL(origin);
    expect(await knock(origin, { origin, cookie })).toBe(101);
    const others = ['https://evil.example', `http://i-00000000.gpu.localhost:${new URL(origin).port}`, 'null'];
    for (const other of [...others, `https://${host}`, `http://${host}.evil.example`, `${origin}0`])
      expect([other, await knock(origin, { origin: other, cookie })]).toEqual([other, 403]);
    expect(await knock(origin, { cookie })).toBe(403);
    expect(await knock(origin, { origin })).toBe(401);
    expect(await knock(origin, { origin, cookie: 'console=made-up' })).toBe(401);
    expect(await knock(origin, { origin, cookie: `${cookie}; ${cookie}` })).toBe(401);
    expect(await knock(origin, { origin, authorization: `Bearer ${renter.api.key}` })).toBe(401);
    // The address must not contain credentials.
    expect(await knock(origin, { origin, cookie }, `/console/terminal?key=${renter.api.key}`)).not.toBe(101);
    expect(await knock(origin, { origin, cookie, host: `${ids[0]}.gpu.localhost` })).not.toBe(101);
  });

  it('gives a reason if the scope is missing or the instance is stopped or unknown', async () => {
    const reader = await newKey('(scopes: [READ, RENT])');
    const forbidden = await open({}, { cookie: reader.cookie }).end();
    expect(forbidden).toMatchObject({
      type: 'refused',
      reason: 'forbidden',
      message: expect.stringContaining('access'),
    });
    expect(await open({ instance: 'i-00000000' }).end()).toMatchObject({ type: 'refused', reason: 'unknown' });
    // A message that no page would send ends the connection.
    for (const asked of [{ shell: '../../etc' }, { seen: -1 }, { columns: 0 }, { instance: "i-0'; --" }]) {
      const page = open(asked);
      await page.end();
      expect([asked, page.closed, page.opened]).toEqual([asked, 1_008, null]);
    }
    const twice = await open().ready();
    twice.send({ type: 'open', instance: ids[1]!, shell: newShell(), columns: 80, rows: 24, seen: 0 });
    await twice.end();
    expect(twice.closed).toBe(1_008);
    const flood = await open().ready();
    for (let count = 0; count < 3_000; count += 1) flood.send({ type: 'resize', columns: 80, rows: 24 });
    await flood.end();
    expect(flood.closed).toBe(1_008);
  });

  it('ends when the session ends or the key is revoked, and leaves no shell behind', async () => {
    const [signedOut, revoked] = [await newKey(), await newKey()];
    for (const key of [signedOut, revoked]) {
      const command = uniqueSleep();
      const page = await open({}, { cookie: key.cookie }).ready();
      page.type(`${command}\n`);
      await until('it runs', () => isRunning(command), SOON_MS, POLL_EVERY_MS);
      if (key === revoked) await graphql(`mutation { revokeApiKey(id: "${key.id}") { id } }`);
      else {
        const headers = { origin: fleet.address, cookie: key.cookie };
        expect((await fetch(`${fleet.address}/console/session`, { method: 'DELETE', headers })).status).toBe(204);
      }
      expect(await page.end()).toMatchObject({ type: 'refused', reason: 'stopped' });
      await until('its shell has ended', () => !isRunning(command), SOON_MS, POLL_EVERY_MS);
      expect(await knock(fleet.address, { origin: fleet.address, cookie: key.cookie })).toBe(401);
    }
    // Shells of other keys continue.
    const other = await open().ready();
    other.type('echo still""here\n');
    await other.waitForText('stillhere');
    await closeAll();
  });

  it('ends an abandoned shell after a time limit', async () => {
    const shells = new Shells(await openEngine(fleet.engine.socket, null), Promise.resolve(), 500);
    const target = { kind: 'shell' as const, shell: newShell(), env: {}, terminal: { columns: 80, rows: 24 }, seen: 0 };
    const first = await tunnelPair();
    const served = shells.serve(first.agent, ids[0]!, target);
    const command = uniqueSleep();
    first.gateway.write(`${command}\n`);
    await until('it runs', () => isRunning(command), SOON_MS, POLL_EVERY_MS);
    // A connected page keeps the shell.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect([shells.size, isRunning(command)]).toEqual([1, true]);
    first.gateway.destroy();
    await served;
    expect(shells.size).toBe(1);
    await until('it has ended', () => shells.size === 0 && !isRunning(command), SOON_MS, POLL_EVERY_MS);
    first.close();
  });

  it('keeps its shell across a gateway restart', async () => {
    const first = await open().ready();
    first.type('mine=kept; echo be""fore\n');
    await first.waitForText('before');
    await fleet.killGateway();
    await first.end();
    await fleet.startGateway();
    const second = await until(
      'it is there again',
      () =>
        open({ shell: first.shell, seen: first.place })
          .ready()
          .catch(() => null),
      60_000,
    );
    second.type('echo $mine\n');
    await second.waitForText('\nkept\r\n');
    expect(second.opened!.from).toBe(first.place);
    await closeAll();
  });

  // These tests come last, because they end what the others use.
  it('ends immediately with its instance, and is refused while the instance is stopped', async () => {
    const page = await open({ instance: ids[1]! }).ready();
    await renter.act(ids[1]!, 'stop');
    expect(await page.end()).toMatchObject({ type: 'refused', reason: 'stopped' });
    const again = open({ instance: ids[1]!, shell: page.shell });
    expect(await again.end()).toMatchObject({ type: 'refused', reason: 'stopped', message: `${ids[1]} is stopped` });
  });

  it('ends when its agent stops', async () => {
    const page = await open().ready();
    const command = uniqueSleep();
    page.type(`${command}\n`);
    await until('it runs', () => isRunning(command), SOON_MS, POLL_EVERY_MS);
    await host.end();
    await page.end();
    host.start();
    await until('it has ended', () => !isRunning(command), SOON_MS, POLL_EVERY_MS);
    const next = await until(
      'there is another shell',
      () =>
        open({ shell: page.shell, seen: page.place })
          .ready()
          .catch(() => null),
      60_000,
    );
    // This informs the page that the shell is a new one.
    expect(next.opened!.from).toBe(0);
    await closeAll();
  });
});

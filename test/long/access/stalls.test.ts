import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import ssh2, { type Client, type ClientChannel } from 'ssh2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { TUNNEL_KINDS, TUNNEL_KINDS_HEADER, TUNNELS_PATH } from '../../../src/agent-protocol/tunnel-protocol.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { sessionOf } from '../../support/access/terminal-page.js';
import { hardware, seen } from '../../support/agent.js';
import { createTestDatabase } from '../../support/database.js';
import { freePort } from '../../support/free-port.js';
import { client, type Renter } from '../../support/gateway.js';
import { adminJson } from '../../support/operator.js';
import { cleanUp, type GatewayProcess, startProcess } from '../../support/process.js';
import { WireAgent } from '../../support/wire-agent.js';

/** Longest permitted stall of a gateway, regardless of what hosts, containers, renters or strangers send to it. */
const MOST_MS = 100;
/** Long enough to include the work that follows an attack. */
const AFTER_MS = 300;

let gateway: GatewayProcess;
let renter: Renter;
let agent: WireAgent;
let instance: string;
let cookie: string;
let sshPort: number;
const keys = ssh2.utils.generateKeyPairSync('ed25519');
const stalls: { attack: string; ms: number; busyMs: number }[] = [];

beforeAll(async () => {
  const url = await createTestDatabase();
  sshPort = await freePort();
  const env = { DATABASE_URL: url, LOG_LEVEL: 'fatal', RATE_LIMIT_PER_MINUTE: '0' };
  gateway = await startProcess(
    { ...env, SSH_PORT: String(sshPort) },
    { nodeOptions: ['--import', join(PACKAGE_ROOT, 'test/support/loop-delay.mjs')] },
  );
  const account = await adminJson(['account', 'create', '--name', 'Stalls', '--credit', '1000'], env);
  const { api_key } = await adminJson(['key', 'create', '--account', account.id], env);
  renter = client(gateway.address, api_key, account.id);
  const { code } = await adminJson(['machine', 'enroll', '--region', 'us-tx', '--online'], env);
  agent = await WireAgent.join(gateway.address, code);
  await agent.report();
  const deploy = () => renter.rest('POST', '/instances', { machine_id: agent.machineId });
  // The machine is offered once its first heartbeat is written, within a second.
  for (let tries = 0; (await deploy()).status !== 201 && tries < 50; tries += 1) await sleep(200);
  instance = (await renter.rest('GET', '/instances')).body.data[0].id;
  await agent.desired();
  await agent.report([seen(instance, 'RUNNING')]);
  cookie = await sessionOf(gateway.address, api_key);
  await renter.graphql('mutation ($key: String!) { addSshKey(publicKey: $key) { id } }', { key: keys.public });
}, 120_000);
afterAll(async () => {
  console.table(stalls);
  await cleanUp();
});

/** Returns the gateway's longest stall since the last call and how much of it was computation. */
async function stall(): Promise<{ ms: number; busyMs: number }> {
  const before = gateway.stdout().length;
  gateway.signal('SIGUSR2');
  await expect.poll(() => gateway.stdout().length, { timeout: 200_000, interval: 10 }).toBeGreaterThan(before);
  const [, ms, busyMs] = /stall (\d+) ms, busy (\d+) ms/.exec(gateway.stdout().slice(before))!;
  return { ms: Number(ms), busyMs: Number(busyMs) };
}

function attack(name: string, run: () => Promise<unknown>, mostMs = MOST_MS) {
  it(`the gateway doesn't stall on ${name}`, { timeout: 300_000 }, async () => {
    // The machine may have become unreachable during an earlier stall.
    await agent.report([seen(instance, 'RUNNING')]);
    await sleep(AFTER_MS);
    await stall();
    await run();
    await sleep(AFTER_MS);
    const { ms, busyMs } = await stall();
    stalls.push({ attack: name, ms, busyMs });
    expect(busyMs).toBeLessThanOrEqual(mostMs);
  });
}

type Serve = (socket: WebSocket, target: { kind: string; argv?: string[] | null; command?: string | null }) => void;

/** Acts as the host's agent: dials the next tunnel that the gateway requests and serves it. */
async function serveNext(serve: Serve): Promise<void> {
  const { streams = [] } = await agent.desired(10, true);
  for (const { id } of streams) {
    const socket = new WebSocket(`${gateway.address.replace('http', 'ws')}${TUNNELS_PATH}${id}`, {
      headers: { ...agent.headers(), [TUNNEL_KINDS_HEADER]: TUNNEL_KINDS.join() },
    });
    socket.on('error', () => {});
    socket.once('message', (data) => {
      const { target } = JSON.parse(String(data));
      socket.send(JSON.stringify({ type: 'opened' }));
      serve(socket, target);
    });
    await once(socket, 'open');
  }
}

const frame = (bytes: Buffer | string, channel = 0) => Buffer.concat([Buffer.from([channel]), Buffer.from(bytes)]);
function send(socket: WebSocket, bytes: Buffer | string): void {
  const all = Buffer.from(bytes);
  for (let at = 0; at < all.length; at += 1_000_000) socket.send(frame(all.subarray(at, at + 1_000_000)));
}
/** Sends frames of one byte each. The operating system delivers many of them in one read. */
function trickle(socket: WebSocket, bytes: Buffer | string): void {
  const raw = (socket as unknown as { _socket: { cork(): void; uncork(): void } })._socket;
  raw.cork();
  for (const byte of Buffer.from(bytes)) socket.send(Buffer.from([0, byte]));
  raw.uncork();
}

/** Acts as a container's /bin/sh for the SFTP server. It responds to every command, and correctly to `pwd`. */
function shell(answer: (socket: WebSocket, command: string, mark: string) => void): Serve {
  return (socket) => {
    send(socket, 'N\n');
    socket.on('message', (data, isBinary) => {
      if (!isBinary) return;
      const command = String((data as Buffer).subarray(1));
      const mark = /\[[0-9a-f]{32}\]/.exec(command)?.[0];
      if (mark === undefined) return;
      if (command.startsWith('{ pwd')) send(socket, `/root\n${mark}0\n`);
      else answer(socket, command, mark);
    });
  };
}

/** Opens SFTP over SSH and waits for the response to what `ask` sends. */
async function sftp(serve: Serve, ask: (channel: ClientChannel) => void, untilMs = 20_000): Promise<void> {
  const ssh: Client = new ssh2.Client();
  ssh.on('error', () => {});
  ssh.connect({ host: '127.0.0.1', port: sshPort, username: instance, privateKey: keys.private });
  await once(ssh, 'ready');
  const served = serveNext(serve);
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    ssh.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  await served;
  let answers = 0;
  channel.on('data', () => {
    answers += 1;
  });
  const over = once(channel, 'close');
  channel.write(packet(1, Buffer.from([0, 0, 0, 3])));
  ask(channel);
  // The two responses are the version and the response to `ask`.
  await Promise.race([over, expect.poll(() => answers, { timeout: untilMs, interval: 20 }).toBeGreaterThan(1)]).catch(
    () => {},
  );
  ssh.end();
}
function packet(type: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from([type]), ...parts]);
  return Buffer.concat([u32(body.length), body]);
}
function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
const text = (value: string) => Buffer.concat([u32(value.length), Buffer.from(value)]);
const STAT = packet(17, u32(1), text('/file'));
const OPENDIR = packet(11, u32(1), text('/'));
const OPEN = packet(3, u32(1), text('/file'), u32(1), u32(0));
const READLINK = packet(19, u32(1), text('/file'));

attack('a two-second pause', () => sleep(2_000));

attack('a size of six million digits', () =>
  sftp(
    shell((socket, _command, mark) => send(socket, `81a4 ${'9'.repeat(6_000_000)} 0 0 1 1\n${mark}0\n`)),
    (channel) => channel.write(STAT),
    200_000,
  ),
);
attack('30 MB of folder entries', () =>
  sftp(
    shell((socket, command, mark) => {
      const own = /stat -c '([0-9a-f]{16}) /.exec(command)?.[1];
      if (own === undefined) return void send(socket, `${mark}1\n`);
      send(socket, `${`${own} 81a4 1 0 0 1 1 ./x\n`.repeat(30_000_000 / 37)}${mark}0\n`);
    }),
    (channel) => channel.write(OPENDIR),
    60_000,
  ),
);
attack('a 30 MB error message that consists of line breaks', () =>
  sftp(
    shell((socket, _command, mark) => send(socket, `${'x\n'.repeat(15_000_000)}${mark}1\n`)),
    (channel) => channel.write(STAT),
    60_000,
  ),
);
attack('a 30 MB error message on a single line', () =>
  sftp(
    shell((socket, _command, mark) => send(socket, `${'x'.repeat(30_000_000)}${mark}1\n`)),
    (channel) => channel.write(STAT),
    60_000,
  ),
);
attack('a link with a 30 MB target', () =>
  sftp(
    shell((socket, _command, mark) => send(socket, `${'/x'.repeat(15_000_000)}\n${mark}0\n`)),
    (channel) => channel.write(READLINK),
    60_000,
  ),
);
attack('30 MB followed by repeated end marks, byte by byte', () =>
  sftp(
    shell((socket, _command, mark) => {
      send(socket, 'x'.repeat(30_000_000));
      for (let time = 0; time < 40; time += 1) trickle(socket, `${mark}no`);
      send(socket, `${mark}0\n`);
    }),
    (channel) => channel.write(STAT),
    60_000,
  ),
);
attack('a first line of 900 kB, byte by byte', () =>
  sftp(
    (socket) => trickle(socket, `${'x'.repeat(900_000)}\n`),
    () => {},
    60_000,
  ),
);
attack('an SFTP packet, byte by byte', () =>
  sftp(
    shell((socket, _command, mark) => send(socket, `81a4 1 0 0 1 1\n${mark}0\n`)),
    (channel) => {
      for (const byte of packet(17, u32(1), text('/'.repeat(260_000)))) channel.write(Buffer.from([byte]));
    },
    60_000,
  ),
);
attack('a file, byte by byte', () =>
  sftp(
    (socket, { argv }) => {
      if (argv != null && !argv[2]!.includes('sftp-server')) return trickle(socket, Buffer.alloc(262_144));
      shell((own, command, mark) =>
        send(own, `${command.includes('stat') ? '81a4 9999999999 0 0 1 1\n' : ''}${mark}0\n`),
      )(socket, { kind: 'exec' });
    },
    (channel) => {
      channel.write(OPEN);
      setTimeout(() => channel.write(packet(5, u32(2), text('\0\0\0\x01'), u32(0), u32(0), u32(262_144))), 300);
      void serveNext((socket) => trickle(socket, Buffer.alloc(262_144))).catch(() => {});
    },
    60_000,
  ),
);

/** Reads the instance's log, which the host writes. */
async function readLog(serve: Serve): Promise<void> {
  const asked = renter.graphql(`{ instanceLogs(id: "${instance}", tail: 1000) { text } }`);
  await serveNext(serve);
  await asked;
}
const ended = (socket: WebSocket) => socket.send(JSON.stringify({ type: 'end' }));
attack('log frames with a million line breaks', () =>
  readLog((socket) => {
    for (let time = 0; time < 5; time += 1) socket.send(frame('\n'.repeat(1_000_000)));
    ended(socket);
  }),
);
attack('log frames with very short lines', () =>
  readLog((socket) => {
    for (let time = 0; time < 5; time += 1) socket.send(frame('o2026-11-26T00:00:00Z x\n'.repeat(40_000)));
    ended(socket);
  }),
);
attack('a 20 MB log line', () =>
  readLog((socket) => {
    for (let time = 0; time < 20; time += 1) socket.send(frame('x'.repeat(1_000_000)));
    ended(socket);
  }),
);
attack('a log, byte by byte', () =>
  readLog((socket) => {
    trickle(socket, 'x'.repeat(900_000));
    ended(socket);
  }),
);
attack('a tunnel with 200,000 empty messages', () =>
  readLog((socket) => {
    for (let time = 0; time < 200_000; time += 1) socket.send('');
    ended(socket);
  }),
);
attack('a tunnel with 100,000 messages', () =>
  readLog((socket) => {
    for (let time = 0; time < 100_000; time += 1) socket.send('{"type":"opened"}');
    ended(socket);
  }),
);
attack('a tunnel with 1 MB messages', () =>
  readLog((socket) => {
    for (let time = 0; time < 20; time += 1) socket.send(`[${'0,'.repeat(500_000)}0]`);
    for (let time = 0; time < 5; time += 1) socket.send('['.repeat(1_000_000));
    for (let time = 0; time < 5; time += 1) socket.send(`${'['.repeat(500_000)}${']'.repeat(500_000)}`);
    ended(socket);
  }),
);
attack('a tunnel with 200,000 pings', () =>
  readLog((socket) => {
    for (let time = 0; time < 200_000; time += 1) socket.ping();
    ended(socket);
  }),
);

/** Lists a folder in the console. */
attack('4 MB of folder entries in the console', async () => {
  const asked = fetch(`${gateway.address}/console/files/${instance}?folder=/`, { headers: { cookie } });
  await serveNext((socket, { argv }) => {
    const mark = /\[[0-9a-f]{32}\]/.exec(argv![2]!)![0];
    const line = `${mark} 81a4 1 0 0 1 1 ./x\n`;
    send(socket, line.repeat(Math.floor(2_000_000 / line.length)));
    send(socket, `${mark}links`);
    send(socket, line.repeat(Math.floor(1_000_000 / line.length)));
    socket.send(JSON.stringify({ type: 'exit', code: 0 }));
  });
  await (await asked).arrayBuffer();
});

const post = async (path: string, body: string, headers: Record<string, string> = {}) =>
  (await fetch(`${gateway.address}${path}`, { method: 'POST', headers, body })).arrayBuffer();
const report = (changes: string) =>
  `{"protocol":2,"session":"x","sequence":1,"generation":0,"instances":[],"unknown":[],"engine":"ok"${changes}}`;
const many = (entry: string, bytes: number) => `[${`${entry},`.repeat(bytes / (entry.length + 1))}${entry}]`;
attack('a report with 600,000 empty instances', () =>
  post('/agent/v1/report', report('').replace('[]', many('{}', 1_990_000)), agent.headers()),
);
attack('a report with 900,000 unknown instances', () =>
  post('/agent/v1/report', report(`,"gpus":${many('0', 1_990_000)}`), agent.headers()),
);
attack('a report nested a million levels deep', () =>
  post('/agent/v1/report', report(`,"x":${'['.repeat(990_000)}${']'.repeat(990_000)}`), agent.headers()),
);
attack('a report with 180,000 members', () =>
  post(
    '/agent/v1/report',
    report(`,"x":{${Array.from({ length: 180_000 }, (_, n) => `"${n}":0`).join()}}`),
    agent.headers(),
  ),
);
attack('a report with a 2 MB number', () =>
  post('/agent/v1/report', report(`,"x":${'9'.repeat(1_990_000)}`), agent.headers()),
);
attack("a stranger's join with 33,000 empty GPUs", () => {
  const { gpus: _none, ...rest } = hardware();
  const body = JSON.stringify({ protocol: 2, code: 'x', hardware: rest });
  return post('/agent/v1/join', body.replace('"hardware":{', `"hardware":{"gpus":${many('{}', 98_000)},`));
});
attack('a stranger’s variables nested 40,000 levels deep', () =>
  post('/graphql', `{"query":"{ pricing { count } }","variables":{"x":${'['.repeat(40_000)}${']'.repeat(40_000)}}}`, {
    'content-type': 'application/json',
  }),
);

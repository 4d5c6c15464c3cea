import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import ssh2, { type Client, type ClientChannel } from 'ssh2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../../src/access/ssh/host-key.js';
import { addKey, KeyPair, OPEN_SSH, outcome, SshClient, sizesAtFirst } from '../../support/access/ssh.js';
import { whileBusy } from '../../support/busy.js';
import { freePort } from '../../support/free-port.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { isRunning, processes, uniqueSleep } from '../../support/hosts/processes.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { type Env, folder, type GatewayProcess, startProcess } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

/** An image with its own SFTP server. */
const FULL = 'full';
/** Debian's folder of perl modules. */
const PERL = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/perl-base`;

/** The agent polls the first gateway. Tests use the second one unless they say otherwise. */
describe('SSH access with OpenSSH clients', needsEngine('podman', ...OPEN_SSH), () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let stranger: RealRenter;
  let second: GatewayProcess;
  let secondEnv: Env;
  let key: KeyPair;
  let strangersKey: KeyPair;
  let ports: number[];
  let hostKey: string;
  let id: string;
  let ssh: SshClient;
  /** Clients that don't log in, with the number of milliseconds until each is disconnected. */
  let slow: Map<string, Promise<number>>;

  const client = (gateway: number, with_: KeyPair | null) => new SshClient(ports[gateway]!, with_, hostKey);

  beforeAll(async () => {
    const [port, ...free] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    ports = [free[0]!, free[1]!];
    fleet = await RealFleet.open(
      {
        PORT: String(port),
        SSH_PORT: String(ports[0]),
        STREAMS_URL: `http://127.0.0.1:${port}`,
      },
      { hasProcess: false },
    );
    secondEnv = {
      ...fleet.env,
      PORT: String(free[2]),
      SSH_PORT: String(ports[1]),
      STREAMS_URL: `http://127.0.0.1:${free[2]}`,
    };
    second = await startProcess(secondEnv);
    const programs = [
      '/bin/bash',
      '/usr/bin/rsync',
      '/usr/lib/openssh/sftp-server',
      '/usr/bin/perl',
      '/usr/bin/ssh-add',
    ];
    await fleet.registry.push(FULL, { programs, files: { [PERL]: PERL } });
    await fleet.engine.pull(`${fleet.registry.at}/${FULL}:1`);
    await fleet.template(FULL, `${fleet.registry.at}/${FULL}`);
    host = await fleet.host();
    renter = await fleet.renter();
    stranger = await fleet.renter();
    [key, strangersKey] = [new KeyPair(), new KeyPair()];
    await addKey(renter, key);
    await addKey(stranger, strangersKey);
    ({ id } = await renter.deploy(host.machineId));
    await renter.phase(id, 'RUNNING');
    const { body } = await renter.api.graphql(`{ instance(id: "${id}") { ssh { hostKey port user command } } }`);
    hostKey = body.data.instance.ssh.hostKey;
    ssh = client(1, key);
    // They connect to the first gateway, away from other clients.
    slow = new Map(Object.entries(SLOW_CLIENTS).map(([how, act]) => [how, patienceWith(ports[0]!, act)]));
  });

  afterAll(async () => {
    await second?.end();
    await fleet?.close();
  });

  it('runs a command and relays its input, output, errors and exit code', async () => {
    const child = ssh.spawn(id, [], 'cat; echo to stderr >&2; exit 7');
    child.stdin.end('some input');
    expect(await outcome(child)).toEqual({ code: 7, stdout: 'some input', stderr: 'to stderr\n' });
  });

  it('reports the exit code of a command that doesn’t read its input', async () => {
    const outputs: string[] = [];
    for (let turn = 0; turn < 5; turn += 1) outputs.push(await readsLittle());
    expect(outputs).toEqual(Array(5).fill('words'));
  });

  it('delivers both output streams in full to a slow reader', async () => {
    const write = (bytes: number, letter: string) => `head -c ${bytes} /dev/zero | tr '\\0' ${letter}`;
    const turn = `${write(100_000, 'o')}; ${write(50_000, 'e')} >&2`;
    const child = ssh.spawn(id, [], `for turn in $(seq 60); do ${turn}; done; exit 4`);
    const done = outcome(child);
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), 1_000);
    const { code, stdout, stderr } = await done;
    expect([code, stdout.length, stderr.length]).toEqual([4, 6_000_000, 3_000_000]);
    expect([/[^o]/.test(stdout), /[^e]/.test(stderr)]).toEqual([false, false]);
  });

  it('provides a shell in a terminal of the requested size, which can be changed', async () => {
    const connection = await connect();
    const shell = await new Promise<ClientChannel>((resolve, reject) =>
      connection.shell({ cols: 123, rows: 45, term: 'vt100' }, (error, channel) =>
        error ? reject(error) : resolve(channel),
      ),
    );
    const said = reading(shell);
    shell.write('stty size; tty; echo $TERM\n');
    await soon('the size is reported', async () => /45 123\r\n\/dev\/pts\/\d+\r\nvt100/.test(said()));
    shell.setWindow(50, 150, 0, 0);
    await soon('the new size is reported', async () => {
      shell.write('stty size\n');
      await sleep(100);
      return /50 150\r\n/.test(said());
    });
    const code = new Promise((resolve) => shell.once('exit', resolve));
    shell.end('exit 3\n');
    expect(await code).toBe(3);
    connection.end();
  });

  it('sets a command’s terminal size before the command starts', async () => {
    // A client without a terminal doesn't request a size.
    expect(await sizesAtFirst(ssh, id, 10)).toEqual(Array(10).fill('24 80'));
  });

  it('passes signals on to the command', async () => {
    const connection = await connect();
    const channel = await execOn(
      connection,
      'trap "echo got it; exit 9" TERM; echo ready; while :; do sleep 0.1; done',
    );
    const said = reading(channel);
    await soon('it is ready', async () => said().includes('ready'));
    const code = new Promise((resolve) => channel.once('exit', resolve));
    channel.signal('TERM');
    expect(await code).toBe(9);
    expect(said()).toContain('got it');
    connection.end();
  });

  it('ends processes left running by a disconnected client', async () => {
    const sleeps = uniqueSleep();
    const child = ssh.spawn(id, [], `echo begun; exec ${sleeps}`);
    const ended = outcome(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGKILL');
    await ended;
    await soon('the command has ended', async () => !isRunning(sleeps));
  });

  /** Files with names and sizes that are difficult for a server. */
  const someFiles = () => {
    const from = join(folder(), 'tree');
    mkdirSync(join(from, 'sub folder'), { recursive: true });
    writeFileSync(join(from, 'empty'), '');
    writeFileSync(join(from, 'it\'s $HOME; `x` \\ "q"'), 'quoted');
    writeFileSync(join(from, '-n'), 'dash');
    writeFileSync(join(from, 'sub folder', 'small.bin'), randomBytes(70_001));
    writeFileSync(join(from, 'large.bin'), randomBytes(5_000_003), { mode: 0o640 });
    return from;
  };
  const digest = (path: string): [string, string][] =>
    readdirSync(path, { recursive: true, encoding: 'utf8' })
      .sort()
      .filter((name) => statSync(join(path, name)).isFile())
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(path, name)))
          .digest('hex'),
      ]);

  const copiesFiles = async () => {
    const from = someFiles();
    const at = `${id}@127.0.0.1:/workspace`;
    const [back, more] = [folder(), folder()];
    expect(await ssh.scp(from, `${at}/`, '-r', '-p')).toMatchObject({ code: 0, stderr: '' });
    expect(await ssh.scp(`${at}/tree`, `${back}/`, '-r', '-p')).toMatchObject({ code: 0, stderr: '' });
    expect(digest(join(back, 'tree'))).toEqual(digest(from));
    expect(statSync(join(back, 'tree/large.bin')).mode & 0o777).toBe(0o640);
    expect(Math.floor(statSync(join(back, 'tree/large.bin')).mtimeMs / 1_000)).toBe(
      Math.floor(statSync(join(from, 'large.bin')).mtimeMs / 1_000),
    );
    const listed = await ssh.sftp(
      id,
      'cd /workspace/tree',
      'rename empty renamed',
      'mkdir more',
      'ln -s large.bin link',
      'ls -1',
      `get link ${more}/link`,
      'rm renamed',
      'rmdir more',
      '-get nothing-there',
      '-rename -l large.bin -n',
      'ls -l',
    );
    expect(listed.code).toBe(0);
    expect(listed.stdout).toMatch(/^-rw-r----- .* 5000003 .*large\.bin$/m);
    expect(listed.stdout.split('\n')).toEqual(expect.arrayContaining(['link', 'more', 'renamed', 'sub folder']));
    expect(listed.stderr).toMatch(/nothing-there/);
    expect(readFileSync(join(more, 'link')).equals(readFileSync(join(from, 'large.bin')))).toBe(true);
    // Resumes a transfer from the middle of the file.
    writeFileSync(join(more, 'half'), readFileSync(join(from, 'large.bin')).subarray(0, 2_000_000));
    expect(await ssh.sftp(id, `get -a /workspace/tree/large.bin ${more}/half`)).toMatchObject({ code: 0 });
    expect(readFileSync(join(more, 'half')).equals(readFileSync(join(from, 'large.bin')))).toBe(true);
    writeFileSync(join(more, 'first'), readFileSync(join(from, 'large.bin')).subarray(0, 2_000_000));
    const lines = [`put ${more}/first /workspace/tree/put`, `put -a ${more}/link /workspace/tree/put`];
    expect(await ssh.sftp(id, ...lines)).toMatchObject({ code: 0 });
    const sums = await ssh.ssh(id, 'md5sum < /workspace/tree/put; md5sum < /workspace/tree/large.bin');
    const [one, other] = sums.stdout.trim().split('\n');
    expect(one).toBe(other);
  };

  it('copies files both ways in an image without an SFTP server', copiesFiles);

  it('copies files with scp’s legacy protocol in an image without scp', async () => {
    const from = someFiles();
    const at = `${id}@127.0.0.1:/workspace/old`;
    const back = folder();
    expect(await ssh.ssh(id, 'mkdir -p /workspace/old')).toMatchObject({ code: 0 });
    expect(await ssh.scp(from, `${at}/`, '-O', '-r', '-p')).toMatchObject({ code: 0, stderr: '' });
    expect(await ssh.scp(`${at}/tree`, `${back}/`, '-O', '-r', '-p')).toMatchObject({ code: 0, stderr: '' });
    expect(digest(join(back, 'tree'))).toEqual(digest(from));
    expect(statSync(join(back, 'tree/large.bin')).mode & 0o777).toBe(0o640);
    const missing = await ssh.scp(`${at}/nothing`, back, '-O');
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('No such file')]);
  });

  it('forwards 100 concurrent connections to the instance’s loopback, and no others', async () => {
    expect(await ssh.ssh(id, 'echo hello > /workspace/hello; httpd -p 127.0.0.1:7000 -h /workspace')).toMatchObject({
      code: 0,
    });
    const connection = await connect();
    const forward = (host: string, port: number) =>
      new Promise<ClientChannel>((resolve, reject) =>
        connection.forwardOut('127.0.0.1', 1, host, port, (error, channel) =>
          error ? reject(error) : resolve(channel),
        ),
      );
    const channels = await Promise.all(Array.from({ length: 100 }, () => forward('localhost', 7_000)));
    const answers = await Promise.all(
      channels.map(async (channel) => {
        const answer = streamText(channel);
        channel.write('GET /hello HTTP/1.0\r\n\r\n');
        return answer;
      }),
    );
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.\d 200 OK[\s\S]*hello\n$/);
    // Programs print this address as their own.
    (await forward('0.0.0.0', 7_000)).destroy();
    await expect(forward('localhost', 7_001)).rejects.toThrow();
    for (const elsewhere of ['127.0.0.2', '169.254.169.254', 'example.com', '10.0.0.1']) {
      await expect(forward(elsewhere, 80)).rejects.toThrow(`only localhost on ${id} can be reached`);
    }
    const socket = () =>
      new Promise((resolve, reject) =>
        connection.openssh_forwardOutStreamLocal('/tmp/socket', (error) => (error ? reject(error) : resolve(null))),
      );
    await expect(socket()).rejects.toThrow('the image has no perl');
    connection.end();
  });

  it('isn’t blocked by a stalled reader or by clients that never log in', async () => {
    const before = rss(second.pid);
    // The clients use other addresses, each with its own limit. In total, there are more of them than may wait.
    const silent = Array.from({ length: 450 }, (_, index) =>
      // The client must read, or it wouldn't notice the end.
      createConnection({ host: '127.0.0.1', port: ports[1]!, localAddress: `127.0.1.${index % 3}` })
        .on('error', () => {})
        .resume(),
    );
    // During the first 20 seconds, all are connected except those above the limits.
    await soon('too many strangers are dropped', async () => silent.filter(({ destroyed }) => destroyed).length >= 194);
    const stalled = ssh.spawn(id, [], 'cat /dev/zero');
    const ended = outcomeOfExit(stalled);
    stalled.stdout.pause();
    expect(await ssh.ssh(id, 'head -c 20000000 /dev/zero')).toMatchObject({ code: 0, stdout: '\0'.repeat(20_000_000) });
    await sleep(1_000);
    const grown = rss(second.pid) - before;
    expect(grown).toBeLessThan(60_000);
    stalled.kill('SIGKILL');
    await ended;
    for (const socket of silent) socket.destroy();
  });

  it('transfers 64 MB each way unchanged', async () => {
    const file = join(folder(), 'large');
    writeFileSync(file, randomBytes(64_000_000));
    const sum = createHash('md5').update(readFileSync(file)).digest('hex');
    const before = rss(second.pid);
    const up = ssh.spawn(id, [], 'tee /workspace/large | md5sum');
    createReadStream(file).pipe(up.stdin);
    expect((await outcome(up)).stdout).toContain(sum);
    const down = ssh.spawn(id, [], 'cat /workspace/large');
    const hash = createHash('md5');
    let peak = 0;
    for await (const chunk of down.stdout) {
      hash.update(chunk as Buffer);
      peak = Math.max(peak, rss(second.pid));
    }
    expect(hash.digest('hex')).toBe(sum);
    expect(peak - before).toBeLessThan(50_000);
  });

  it('admits only the account’s keys, through either gateway', async () => {
    const attempts: [what: string, user: string, key: KeyPair | null][] = [
      ['a stranger’s key', id, strangersKey],
      ['an unregistered key', id, new KeyPair()],
      ['no key', id, null],
      ['an instance that is not there', 'i-00000000', key],
      ['another kind of name', 'root', key],
      ['almost an id', 'I-00000000', key],
    ];
    for (const gateway of [0, 1]) {
      const done = await Promise.all(attempts.map(([, user, with_]) => client(gateway, with_).ssh(user, 'echo in')));
      for (const [index, { code, stdout, stderr }] of done.entries()) {
        expect([attempts[index]![0], code, stdout]).toEqual([attempts[index]![0], 255, '']);
        expect(stderr).toContain('Permission denied (publickey)');
      }
      expect(await client(gateway, key).ssh(id, 'echo in')).toMatchObject({ code: 0, stdout: 'in\n' });
    }
  });

  it('accepts ECDSA keys, and RSA keys with modern signatures', async () => {
    for (const other of [new KeyPair('rsa', 3_072), new KeyPair('ecdsa', 384)]) {
      await addKey(renter, other);
      expect(await client(1, other).ssh(id, 'echo in')).toMatchObject({ code: 0, stdout: 'in\n' });
    }
  });

  it('disconnects a client that offers a thousand keys or none', async () => {
    let offered = 0;
    const keys = Array.from({ length: 30 }, newKey);
    const ended = await attempt((_left, _partial, next) => {
      offered += 1;
      next({ type: 'publickey', username: id, key: keys[offered % keys.length]! });
    });
    expect(ended).toBe('ended');
    expect(offered).toBeLessThanOrEqual(25);
    let none = 0;
    await attempt((_left, _partial, next) => {
      none += 1;
      next({ type: 'none', username: id });
    });
    expect(none).toBeLessThanOrEqual(25);
    expect(await ssh.ssh(id, 'echo in')).toMatchObject({ code: 0 });
  });

  it('disconnects OpenSSH if its agent has too many keys, unless one is configured', async () => {
    const dir = folder();
    const socket = join(dir, 'agent');
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
    const env = { ...process.env, SSH_AUTH_SOCK: socket };
    const paths = Array.from({ length: 1_000 }, (_, index) => join(dir, `id_${index}`));
    for (const path of paths) writeFileSync(path, newKey(), { mode: 0o600 });
    await soon('the agent listens', async () => existsSync(socket));
    execFileSync('ssh-add', ['-q', ...paths], { env, stdio: 'ignore' });
    const withAgent = ['-o', `IdentityAgent=${socket}`, '-v'];
    const all = await outcome(client(1, null).spawn(id, [...withAgent, '-o', 'IdentitiesOnly=no'], 'echo in'));
    expect(all).toMatchObject({ code: 255, stdout: '' });
    expect(all.stderr.match(/Offering public key/g)!.length).toBeLessThanOrEqual(21);
    expect(await outcome(ssh.spawn(id, withAgent, 'echo in'))).toMatchObject({ code: 0, stdout: 'in\n' });
    agent.kill();
  });

  it('disconnects silent, slow and idle clients after 20 seconds', async () => {
    for (const [how, patience] of slow) expect(await patience, how).toBeGreaterThan(15_000);
    expect(await ssh.ssh(id, 'echo in')).toMatchObject({ code: 0 });
  }, 60_000);

  it('refuses a second command of any kind in the same session', async () => {
    const connection = await connect();
    const channel = await new Promise<ClientChannel>((resolve, reject) =>
      connection.exec('cat', (error, opened) => (error ? reject(error) : resolve(opened))),
    );
    // The library's clients never do this, so the test sends the packet itself.
    const { _protocol: protocol } = connection as unknown as {
      _protocol: Record<string, (...given: unknown[]) => void>;
    };
    const { outgoing } = channel as unknown as { outgoing: { id: number } };
    protocol.exec!(outgoing.id, 'echo twice', false);
    protocol.shell!(outgoing.id, false);
    protocol.subsystem!(outgoing.id, 'sftp', false);
    channel.end('once');
    expect(await streamText(channel)).toBe('once');
    connection.end();
    expect(await ssh.ssh(id, 'echo in')).toMatchObject({ code: 0 });
  });

  it('ends a removed key’s sessions within two seconds and admits no new ones', async () => {
    const gone = new KeyPair();
    const keyId = await addKey(renter, gone);
    const children = [0, 1].map((gateway) => client(gateway, gone).spawn(id, [], 'echo begun; cat'));
    const done = children.map(outcome);
    await Promise.all(children.map((child) => new Promise((resolve) => child.stdout.once('data', resolve))));
    const began = performance.now();
    await renter.api.graphql(`mutation { removeSshKey(id: "${keyId}") { id } }`);
    for (const { code } of await Promise.all(done)) expect(code).toBe(255);
    expect(performance.now() - began).toBeLessThan(whileBusy(2_000));
    expect((await client(1, gone).ssh(id, 'echo in')).stderr).toContain('Permission denied');
  });

  it('ends a stream when its agent stops, and opens new ones through the next agent', async () => {
    const [own, other] = [uniqueSleep(), uniqueSleep()];
    const child = ssh.spawn(id, [], `echo begun; exec ${own}`);
    const done = outcome(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const operators = fleet.engine.exec(id, ...other.split(' '));
    await soon('the operator’s own command runs', async () => isRunning(other));
    await host.end('SIGKILL');
    expect((await done).code).toBe(255);
    expect(isRunning(own)).toBe(true);
    host.start();
    await soon('the next one works', async () => (await ssh.ssh(id, 'echo again')).stdout === 'again\n', 40_000);
    // The next agent ends the killed agent's commands, but no other processes in the container.
    await soon('the command has ended', async () => !isRunning(own));
    for (const pid of processes((each) => each === other)) process.kill(pid, 'SIGKILL');
    await operators;
  });

  it('ends immediately when the instance stops, and says why new sessions are refused', async () => {
    const child = ssh.spawn(id, [], 'echo begun; cat');
    const done = outcome(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await renter.act(id, 'stop');
    const stopped = performance.now();
    expect((await done).code).toBe(255);
    expect(performance.now() - stopped).toBeLessThan(whileBusy(2_000));
    expect(await ssh.ssh(id, 'echo in')).toMatchObject({
      code: 255,
      stdout: '',
      stderr: expect.stringContaining(`${id} is stopped`),
    });
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
  });

  it('copies files with the image’s own SFTP server and with rsync', async () => {
    ({ id } = await renter.deploy(host.machineId, { template: FULL }));
    await renter.phase(id, 'RUNNING');
    expect(await ssh.ssh(id, 'echo $0')).toMatchObject({ stdout: expect.stringContaining('bash') });
    await copiesFiles();
    const from = someFiles();
    const back = folder();
    const at = `${id}@127.0.0.1:/workspace/synced/`;
    expect(await ssh.rsync(`${from}/`, at)).toMatchObject({ code: 0, stderr: '' });
    expect(await ssh.rsync(at, `${back}/`)).toMatchObject({ code: 0, stderr: '' });
    expect(digest(back)).toEqual(digest(from));
  });

  it('forwards Unix sockets, including half-closes, and the client’s SSH agent', async () => {
    const server = `perl -MIO::Socket::UNIX -e '$l = IO::Socket::UNIX->new(Local => "/tmp/socket", Listen => 9); while ($c = $l->accept) { print $c reverse <$c>; close $c }'`;
    const child = ssh.spawn(id, [], `rm -f /tmp/socket; ${server}`);
    const connection = await connect();
    const forward = (path: string) =>
      new Promise<ClientChannel>((resolve, reject) =>
        connection.openssh_forwardOutStreamLocal(path, (error, channel) => (error ? reject(error) : resolve(channel))),
      );
    const channel = await until('it listens', () => forward('/tmp/socket').catch(() => null), 30_000, POLL_EVERY_MS);
    const answer = streamText(channel);
    channel.end('one\ntwo\n');
    expect(await answer).toBe('two\none\n');
    await expect(forward('/tmp/nothing')).rejects.toThrow('No such file');
    await expect(forward('relative')).rejects.toThrow('absolute path');
    connection.end();
    child.kill();
    const socket = join(folder(), 'agent');
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
    try {
      await soon('the agent listens', async () => existsSync(socket));
      const env = { ...process.env, SSH_AUTH_SOCK: socket };
      execFileSync('ssh-add', ['-q', key.path], { env, stdio: 'ignore' });
      const listing = spawn('ssh', ['-A', ...ssh.args(id, 'ssh-add -L; ssh-add -L; ls -ld "$SSH_AUTH_SOCK"')], { env });
      const { stdout } = await outcome(listing);
      expect(stdout.split('\n').slice(0, 2)).toEqual([key.publicKey, key.publicKey]);
      expect(stdout).toMatch(/^srwx------ /m);
      await soon('nothing is left of it', async () => (await ssh.ssh(id, 'ls -d /tmp/ssh-*')).stdout === '');
    } finally {
      agent.kill();
    }
  });

  it('keeps its host key across a gateway restart, although connections end', async () => {
    await readsLittle();
    const child = ssh.spawn(id, [], 'echo begun; cat');
    const done = outcome(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const end = await second.end();
    expect(end, end.stderr.split('\n').slice(-20).join('\n')).toMatchObject({ code: 0 });
    expect((await done).code).toBe(255);
    second = await startProcess(secondEnv);
    expect(await ssh.ssh(id, 'echo in')).toMatchObject({ code: 0, stdout: 'in\n' });
  });

  /** Resolves to the output of a command that exits before it has read its input. */
  async function readsLittle(): Promise<string> {
    const child = ssh.spawn(id, [], 'head -c 5; exit 3');
    child.stdin.on('error', () => {}).end(Buffer.alloc(8_000_000, 'words'));
    const { code, stdout } = await outcome(child);
    expect(code).toBe(3);
    return stdout;
  }

  function connect(): Promise<Client> {
    const connection = new ssh2.Client();
    return new Promise((resolve, reject) => {
      connection.once('ready', () => resolve(connection)).once('error', reject);
      connection.connect({
        host: '127.0.0.1',
        port: ports[1]!,
        username: id,
        privateKey: readFileSync(key.path),
        strictVendor: false,
      } as ssh2.ConnectConfig);
    });
  }

  /** Resolves to the outcome of a login with this handler, which may keep trying. */
  function attempt(
    authHandler: (left: unknown, partial: unknown, next: (method: object) => void) => unknown,
  ): Promise<'in' | 'ended'> {
    const connection = new ssh2.Client();
    return new Promise((resolve) => {
      connection.once('ready', () => resolve('in'));
      connection.once('close', () => resolve('ended'));
      connection.on('error', () => {});
      const to = { host: '127.0.0.1', port: ports[1]!, username: id, authHandler };
      connection.connect(to as ssh2.ConnectConfig);
    });
  }
});

const IDENT = 'SSH-2.0-slow\r\n';
/** Header of a packet whose body never arrives. */
const LARGE_PACKET = Buffer.from([0, 0, 0x7e, 0xfc, 6, 20]);

const SLOW_CLIENTS: Record<string, (socket: Socket) => void> = {
  silent: () => {},
  'slow to introduce itself': (socket) => drip(socket, 'SSH-2.0-slow'.repeat(20)),
  'slow in its first packet': (socket) => {
    socket.write(Buffer.concat([Buffer.from(IDENT), LARGE_PACKET]));
    drip(socket, 'x'.repeat(200));
  },
  'never logging in': (sock) => {
    const never = { sock, username: 'i-00000000', authHandler: () => {}, readyTimeout: 0 };
    new ssh2.Client().on('error', () => {}).connect(never as ssh2.ConnectConfig);
  },
};

/** Sends single bytes at intervals. */
function drip(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text.charAt(at++)), 300);
  socket.once('close', () => clearInterval(timer));
}

/** Resolves to the number of milliseconds until the other side disconnects. */
async function patienceWith(port: number, act: (socket: Socket) => void): Promise<number> {
  const socket = createConnection({ host: '127.0.0.1', port, localAddress: '127.0.0.3' }).on('error', () => {});
  const began = performance.now();
  // An end and a reset both count, since unread data may cause a reset.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('end', () => socket.destroy()).resume();
  act(socket);
  await closed;
  return performance.now() - began;
}

/** Waits for a condition, with extra time for a busy machine. */
const soon = (what: string, look: () => Promise<boolean>, withinMs = 30_000) =>
  until(what, look, withinMs, POLL_EVERY_MS);

function execOn(connection: Client, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) =>
    connection.exec(command, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
}

function reading(channel: ClientChannel): () => string {
  let said = '';
  channel.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  return () => said;
}

/** Returns the process's resident memory in kB. */
function rss(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

function outcomeOfExit(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addKey, KeyPair, OPEN_SSH, outcome, SshClient, sizesAtFirst } from '../../support/access/ssh.js';
import { visit } from '../../support/access/visit.js';
import { gpu } from '../../support/cli/gpu.js';
import { freePort } from '../../support/free-port.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { isRunning, uniqueSleep } from '../../support/hosts/processes.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { UNTIL_TERM } from '../../support/hosts/registry.js';
import { openAssistant } from '../../support/mcp.js';
import { folder } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const TALKS = 'talks';

/** Tests only what differs between the engines. Everything else is tested with Podman. */
describe('access to a Docker container', needsEngine('docker', ...OPEN_SSH), () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let ssh: SshClient;
  let key: KeyPair;
  let id: string;

  beforeAll(async () => {
    const [port, sshPort] = await Promise.all([freePort(), freePort()]);
    fleet = await RealFleet.open(
      { PORT: String(port), SSH_PORT: String(sshPort) },
      { engineName: 'docker', hasProcess: false },
    );
    const command = ['/bin/sh', '-c', `echo begun; ${UNTIL_TERM}`];
    await fleet.template(TALKS, `${fleet.registry.at}/busybox`, { command });
    host = await fleet.host();
    renter = await fleet.renter();
    key = new KeyPair();
    await addKey(renter, key);
    ({ id } = await renter.deploy(host.machineId, { template: TALKS }));
    await renter.phase(id, 'RUNNING');
    const { body } = await renter.api.graphql(`{ instance(id: "${id}") { ssh { hostKey } } }`);
    ssh = new SshClient(sshPort, key, body.data.instance.ssh.hostKey);
  });

  afterAll(() => fleet?.close());

  it('runs a command and relays its input, output, errors and exit code', async () => {
    const child = ssh.spawn(id, [], 'cat; echo to stderr >&2; exit 7');
    child.stdin.end('x'.repeat(3_000_000));
    expect(await outcome(child)).toEqual({ code: 7, stdout: 'x'.repeat(3_000_000), stderr: 'to stderr\n' });
  });

  it('provides a terminal and ends processes left running by a disconnected client', async () => {
    const command = uniqueSleep();
    const child = ssh.spawn(id, ['-tt'], `tty; exec ${command}`);
    const ended = outcome(child);
    const [said] = await Promise.all([
      new Promise((resolve) => child.stdout.once('data', resolve)),
      until('it runs', () => isRunning(command), 30_000, POLL_EVERY_MS),
    ]);
    expect(String(said)).toMatch(/^\/dev\/pts\/\d+/);
    child.kill('SIGKILL');
    await ended;
    await until('the command has ended', () => !isRunning(command), 30_000, POLL_EVERY_MS);
  });

  it('sets a command’s terminal size before the command starts', async () => {
    expect(await sizesAtFirst(ssh, id, 10)).toEqual(Array(10).fill('24 80'));
  });

  it('reaches a loopback port over SSH and HTTP, and shows the log', async () => {
    expect(await ssh.ssh(id, 'mkdir /www; echo hello > /www/page; httpd -p 127.0.0.1:7000 -h /www')).toMatchObject({
      code: 0,
    });
    const forwarded = ssh.spawn(id, ['-W', 'localhost:7000']);
    forwarded.stdin.write('GET /page HTTP/1.0\r\n\r\n');
    expect((await outcome(forwarded)).stdout).toMatch(/^HTTP\/1.\d 200 OK[\s\S]*hello\n$/);
    const { body } = await renter.api.graphql(`mutation { openPort(id: "${id}", port: 7000) { ports { url } } }`);
    const { host: name } = new URL(body.data.openPort.ports[0].url);
    const page = async () => (await visit(fleet.address, name, '/page')).text === 'hello\n';
    await until('the page is served', page, 30_000);
    const logs = await renter.api.graphql(`{ instanceLogs(id: "${id}", tail: 10) { stream text } }`);
    expect(logs.body.data.instanceLogs).toEqual([{ stream: 'STDOUT', text: 'begun' }]);
  });

  it('lets an assistant run commands and read the log as data through `gpu mcp`', async () => {
    const env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: fleet.address, GPU_API_KEY: renter.api.key };
    const assistant = await openAssistant(env, ['--identity', key.path]);
    const says = (command: string, more = {}) => assistant.call('run_command', { id, command, ...more });
    expect(await says('echo $((6 * 7)); printf "\\033[2J" >&2; exit 7')).toMatchObject({
      summary: 'exit code 7',
      exitCode: 7,
      stdout: '42\n',
      stderr: '\\u{1b}[2J',
    });
    const { stdout, stdoutCharactersLeftOff } = await says('head -c 1000000 /dev/zero | tr "\\0" o; echo end');
    expect([stdout.length, stdout.slice(-4), stdoutCharactersLeftOff]).toEqual([20_000, 'end\n', 980_004]);
    const command = uniqueSleep();
    expect(await says(`exec ${command}`, { timeoutSeconds: 1 })).toMatchObject({ exitCode: null });
    await until('the command has ended', () => !isRunning(command), 30_000, POLL_EVERY_MS);
    // This is a command for the container, not an option for the local ssh.
    const made = join(folder(), 'made');
    expect((await says(`-oProxyCommand=touch${'$'}{IFS}${made}`)).exitCode).not.toBe(0);
    expect(existsSync(made)).toBe(false);
    expect((await assistant.call('read_logs', { id })).lines).toMatchObject([{ stream: 'STDOUT', text: 'begun' }]);
    await assistant.close();
    const without = await openAssistant(env, ['--identity', new KeyPair().path]);
    expect(await without.refused('run_command', { id, command: 'true' })).toMatch(/Permission denied.*--identity FILE/);
    await without.close();
  });

  it('ends a killed agent’s commands', async () => {
    const command = uniqueSleep();
    const child = ssh.spawn(id, [], `echo begun; exec ${command}`);
    const done = outcome(child);
    await until('it runs', () => isRunning(command), 30_000, POLL_EVERY_MS);
    await host.end('SIGKILL');
    expect((await done).code).toBe(255);
    host.start();
    await until('the command has ended', () => !isRunning(command), 30_000, POLL_EVERY_MS);
  });

  it('opens a shell with `gpu deploy --ssh -i KEY` or lists the keys that would work', async () => {
    const env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${fleet.address}/v1`, GPU_API_KEY: renter.api.key! };
    const deployWith = async ({ path }: KeyPair) => {
      await renter.destroyAll();
      const options = ['--template', TALKS, '--disk-gb', '10', '--user', '0:0'];
      const args = ['deploy', host.machineId, ...options, '--ssh', '-i', path];
      return gpu(args, env, 'echo in $((6 * 7)); exit 3\n');
    };
    const done = await deployWith(key);
    expect([done.code, done.stdout], done.stderr).toEqual([3, expect.stringMatching(/^in 42$/m)]);
    const refused = await deployWith(new KeyPair());
    expect([refused.code, refused.stdout]).toEqual([255, expect.not.stringContaining('in 42')]);
    const { body } = await renter.api.graphql('{ sshKeys { fingerprint } }');
    for (const { fingerprint } of body.data.sshKeys) expect(refused.stderr).toContain(fingerprint);
    expect(refused.stderr).toContain('The rental continues and is billed.');
    expect((await renter.instances()).map(({ status }) => status)).toEqual(['running']);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addKey, KeyPair, OPEN_SSH, outcome, SshClient } from '../../support/access/ssh.js';
import { sessionOf, TerminalPage } from '../../support/access/terminal-page.js';
import { gpu } from '../../support/cli/gpu.js';
import { freePort } from '../../support/free-port.js';
import { type EngineName, needsEngine } from '../../support/hosts/engines.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { UNTIL_TERM } from '../../support/hosts/registry.js';
import { folder } from '../../support/process.js';

/** An image whose user isn't root. */
const AS_APP = 'as-app';
const PASSWD = 'root:x:0:0::/root:/bin/sh\napp:x:1234:1234::/home/app:/bin/sh\nother:x:77:78::/:/bin/sh\n';
const WHO = 'echo $(id -u):$(id -g) $HOME $USER';

describe.each<EngineName>(['podman', 'docker'])('a command’s user on %s', (engineName) => {
  const wanted = needsEngine(engineName, ...OPEN_SSH);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let ssh: SshClient;
  let key: KeyPair;
  let id: string;

  beforeAll(async () => {
    const [port, sshPort] = await Promise.all([freePort(), freePort()]);
    fleet = await RealFleet.open({ PORT: String(port), SSH_PORT: String(sshPort) }, { engineName, hasProcess: false });
    const at = folder();
    writeFileSync(join(at, 'passwd'), PASSWD);
    writeFileSync(join(at, 'kept'), '');
    const files = {
      '/etc/passwd': join(at, 'passwd'),
      '/root/kept': join(at, 'kept'),
      '/home/app/kept': join(at, 'kept'),
    };
    await fleet.registry.push(AS_APP, { user: 'app', files, command: ['/bin/sh', '-c', UNTIL_TERM] });
    await fleet.engine.pull(`${fleet.registry.at}/${AS_APP}:1`);
    await fleet.template(AS_APP, `${fleet.registry.at}/${AS_APP}`);
    host = await fleet.host();
    renter = await fleet.renter();
    key = new KeyPair();
    await addKey(renter, key);
    id = await deployed();
    const { body } = await renter.api.graphql(`{ instance(id: "${id}") { ssh { hostKey rootCommand } } }`);
    const { hostKey, rootCommand } = body.data.instance.ssh;
    expect(rootCommand).toBe(`ssh -p ${sshPort} root@${id}@gpu.localhost`);
    ssh = new SshClient(sshPort, key, hostKey);
  });
  afterAll(() => fleet?.close());

  const deployed = async (rest: object = {}): Promise<string> => {
    const instance = await renter.deploy(host.machineId, { template: AS_APP, ...rest });
    await renter.phase(instance.id, 'RUNNING');
    return instance.id;
  };
  const env = () => ({
    XDG_CONFIG_HOME: folder(),
    GPU_BASE_URL: `${fleet.address}/v1`,
    GPU_API_KEY: renter.api.key!,
  });
  const inTerminal = async (login: string, command: string) =>
    (await outcome(ssh.spawn(login, ['-tt'], command))).stdout.trim();

  it('is the image’s user over SSH unless the login names another one', async () => {
    const cases = [
      [id, '1234:1234 /home/app app'],
      [`root@${id}`, '0:0 /root root'],
      [`0@${id}`, '0:0 /root root'],
      [`other@${id}`, '77:78 / other'],
      [`1234@${id}`, '1234:1234 /home/app app'],
    ] as const;
    for (const [login, who] of cases) {
      expect(await ssh.ssh(login, WHO)).toEqual({ code: 0, stdout: `${who}\n`, stderr: '' });
      expect(await inTerminal(login, WHO), `${login} in a terminal`).toBe(who);
    }
    const { stdout, code } = await gpu(['ssh', '-i', key.path, '--user', 'root', id, '--', 'id', '-u'], env());
    expect([code, stdout]).toEqual([0, '0\n']);
  });

  it('is rejected if it doesn’t exist, with a reason when there is no terminal', async () => {
    const reason = 'the user does not exist in the image';
    expect(await ssh.ssh(`ghost@${id}`, 'id')).toMatchObject({ code: 255, stdout: '', stderr: `${reason}\r\n` });
    expect(await inTerminal(`ghost@${id}`, 'id')).toBe('');
    const { code, stderr } = await gpu(['ssh', '-i', key.path, '--user', 'gh:ost', id, 'id'], env());
    expect([code, stderr]).toEqual([2, expect.stringContaining('--user must be root')]);
  });

  it('can be chosen for a browser terminal and doesn’t change afterwards', async () => {
    const cookie = await sessionOf(fleet.address, renter.api.key!);
    const open = (request: object) => new TerminalPage(fleet.address, cookie, { instance: id, ...request }).ready();
    const own = await open({});
    own.type('echo it is $(id -u)\n');
    await own.waitForText('it is 1234');
    own.send({ type: 'end' });
    const root = await open({ user: 'root' });
    root.type('echo it is $(id -u)\n');
    await root.waitForText('it is 0');
    root.lose();
    // This is still the previous shell, regardless of the requested user.
    const again = await open({ shell: root.shell, seen: root.place });
    again.type('echo it is still $(id -u)\n');
    await again.waitForText('it is still 0');
    again.send({ type: 'end' });
    const wrong = new TerminalPage(fleet.address, cookie, { instance: id, user: 'ro ot' });
    expect(await wrong.end()).toEqual({ type: 'closed 1008' });
    const missing = new TerminalPage(fleet.address, cookie, { instance: id, user: 'ghost' });
    expect(await missing.end()).toMatchObject({ message: 'the user does not exist in the image' });
  });

  it('owns files copied by scp, sftp and gpu cp', async () => {
    const from = join(folder(), 'from');
    writeFileSync(from, 'of root');
    expect(await ssh.ssh(`root@${id}`, 'chmod 1777 /tmp')).toMatchObject({ code: 0, stderr: '' });
    const ownerOf = async (path: string) => (await ssh.ssh(id, `stat -c %u ${path}`)).stdout;
    for (const [login, uid] of [
      [id, '1234\n'],
      [`root@${id}`, '0\n'],
    ] as const) {
      expect(await ssh.scp(from, `${login}@127.0.0.1:/tmp/of-${uid.trim()}`)).toMatchObject({ code: 0, stderr: '' });
      expect(await ownerOf(`/tmp/of-${uid.trim()}`)).toBe(uid);
    }
    expect(await ssh.sftp(`root@${id}`, 'mkdir /tmp/folder', 'chmod 700 /tmp/folder')).toMatchObject({ code: 0 });
    expect(await ownerOf('/tmp/folder')).toBe('0\n');
    const back = join(folder(), 'back');
    const copied = await gpu(['cp', '-i', key.path, '--user', 'root', `${id}:/tmp/of-0`, back], env());
    expect(copied.code, copied.stderr).toBe(0);
    expect(readFileSync(back, 'utf8')).toBe('of root');
    expect((await gpu(['cp', '-i', key.path, '--user', 'root', from, `${id}:/tmp/by-gpu`], env())).code).toBe(0);
    expect(await ownerOf('/tmp/by-gpu')).toBe('0\n');
  });

  it('is the launch’s user for its command, over SSH and through the engine', async () => {
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
    id = await deployed({ user: 'root' });
    expect((await fleet.engine.exec(id, 'id', '-u')).text).toBe('0\n');
    expect((await fleet.engine.exec(id, 'stat', '-c', '%u', '/proc/1')).text).toBe('0\n');
    expect(await ssh.ssh(id, WHO)).toMatchObject({ stdout: '0:0 /root root\n' });
    expect(await ssh.ssh(`app@${id}`, WHO)).toMatchObject({ stdout: '1234:1234 /home/app app\n' });
    // Changing an owner needs root's capabilities, even in a container without new privileges.
    const chowns = 'touch /workspace/mine && chown app /workspace/mine && stat -c %U /workspace/mine';
    expect(await inTerminal(id, chowns)).toBe('app');
  });

  it('makes the start fail with a reason if it doesn’t exist', async () => {
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
    const { id: failing } = await renter.deploy(host.machineId, { template: AS_APP, user: 'ghost' });
    const { runtime } = await renter.phase(failing, 'FAILED');
    expect(runtime.message).toBe('the user does not exist in the image');
    await renter.destroy(failing);
  });
});

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { desiredInstance, type TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import { mountsBelow } from '../../support/hosts/leftovers.js';
import { type TestRegistry, UNTIL_TERM } from '../../support/hosts/registry.js';
import { RunningHost } from '../../support/hosts/running-host.js';
import type { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { isLong } from '../../support/long.js';
import { folder } from '../../support/process.js';

const STAYS = ['/bin/sh', '-c', UNTIL_TERM];

describe.each<EngineName>(['podman', 'docker'])('a container on %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  const opened = new RunningHost();
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;
  /** Instance id. Each test has its own, because an agent doesn't repeat a failed start. */
  let id = '';
  let tests = 0;

  beforeAll(async () => {
    ({ registry, engine, gateway, host } = await opened.open(name, { busybox: {} }));
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    tests += 1;
    id = `i-${String(tests).padStart(8, '0')}`;
    gateway.secrets = { variables: {}, files: {}, registryLogin: null };
  });
  /** Removes everything before the next test. */
  afterEach(async () => {
    gateway.setDesired([desiredInstance(id, 'absent')]);
    await gateway.phase(id, 'ERASED', 60_000);
    expect([(await engine.containers()).size, host.disks, mountsBelow(host.dataDir)]).toEqual([0, [], []]);
  });

  /** Defines a test that doesn't depend on the engine, so it runs with only one engine except in the long run. */
  const itsOwn = it.runIf(isLong || name === 'podman');

  const running = (rest = {}) =>
    desiredInstance(id, 'running', { image: `${registry.at}/busybox`, memoryMb: 64, ...rest });

  describe('with a user', () => {
    const USERS = 'root:x:0:0::/:/bin/sh\napp:x:1234:1234::/:/bin/sh\nroot2:x:0:0::/:/bin/sh\n';
    const GROUPS = 'root:x:0:\napp:x:1234:\nstaff:x:50:app\n';
    const image = () => `${registry.at}/as-app`;
    const pushed = async (passwd = USERS, user = 'app') => {
      const at = folder();
      for (const [name, text] of Object.entries({ passwd, group: GROUPS })) writeFileSync(join(at, name), text);
      const files = { '/etc/passwd': join(at, 'passwd'), '/etc/group': join(at, 'group') };
      await registry.push('as-app', { user, files, command: STAYS });
    };
    /** Returns the ids and permissions of the first process, which are the container's. */
    const first = async () => {
      const { text } = await engine.exec(id, 'grep', '-E', '^(Uid|Gid|CapBnd|NoNewPrivs|Seccomp):', '/proc/1/status');
      const lines = text.trim().split('\n');
      return Object.fromEntries(lines.map((line) => [line.split(':')[0], line.split(/\s+/)[1]]));
    };
    const started = async (user: string | undefined, start: number) => {
      gateway.setDesired([running({ image: image(), ...(user !== undefined && { user }), start })]);
      await gateway.waitUntil(id, (seen) => seen.phase === 'RUNNING' && seen.start === start);
    };
    const erased = async () => {
      gateway.setDesired([desiredInstance(id, 'absent')]);
      await gateway.phase(id, 'ERASED');
    };

    it('runs as that user instead of the image’s, with the same limits', async () => {
      await pushed();
      // These are the limits of an image whose user is root.
      gateway.setDesired([running()]);
      await gateway.phase(id, 'RUNNING');
      const { CapBnd, NoNewPrivs, Seccomp } = await first();
      expect([NoNewPrivs, Seccomp]).toEqual(['1', '2']);
      await erased();
      const cases = [
        [undefined, '1234', '1234'],
        ['root', '0', '0'],
        ['0:0', '0', '0'],
        ['4321', '4321', '0'],
        ['4321:4322', '4321', '4322'],
        ['app:root', '1234', '0'],
        ['2147483647:2147483647', '2147483647', '2147483647'],
      ] as const;
      for (const [user, Uid, Gid] of isLong ? cases : cases.slice(0, 4)) {
        await started(user, 1);
        expect(await first(), user).toMatchObject({ Uid, Gid, CapBnd, NoNewPrivs, Seccomp });
        expect((await engine.exec(id, 'id', '-u')).text).toBe(`${Uid}\n`);
        await erased();
      }
    });

    itsOwn('runs as id 0 if the user is root, even if the image maps root to another id', async () => {
      await pushed('root:x:1234:1234::/:/bin/sh\n', 'root');
      await started('root', 1);
      expect(await first()).toMatchObject({ Uid: '0', Gid: '0' });
    });

    itsOwn('makes files with secrets readable only by that user', async () => {
      await pushed();
      gateway.secrets = { variables: {}, files: { key: 'hush' }, registryLogin: null };
      gateway.setDesired([running({ image: image(), user: '4321:0', secrets: true })]);
      await gateway.phase(id, 'RUNNING');
      const seen = await engine.exec(id, 'sh', '-c', 'stat -c "%a %u" /run/secrets/key; cat /run/secrets/key');
      expect(seen.text).toBe('400 4321\nhush');
    });

    it.each([
      ['ghost', 'the user does not exist in the image'],
      ['app:ghosts', 'the group does not exist in the image'],
    ])('fails and is charged if the image lacks the user (%s)', async (user, message) => {
      await pushed();
      gateway.setDesired([running({ image: image(), user })]);
      const failed = await gateway.phase(id, 'FAILED');
      expect([failed.message, failed.fault]).toEqual([message, 'image']);
    });
  });

  it.each([
    ['a pipe', '/bin/busybox mkfifo /etc/passwd'],
    ['a link to a pipe', '/bin/busybox mkfifo /pipe && ln -s ../pipe /etc/passwd'],
    // The engine would read the file below the mount, which may be a pipe of the image.
    ['a link into a mount', 'ln -s /workspace/passwd /etc/passwd'],
    ['too large', 'head -c 4194305 /dev/zero > /etc/passwd'],
  ])('fails without blocking the engine if its list of users is %s', async (_what, command) => {
    gateway.setDesired([running()]);
    await gateway.phase(id, 'RUNNING');
    expect((await engine.exec(id, 'sh', '-c', `rm -f /etc/passwd; ${command}`)).code).toBe(0);
    const own = await openEngine(engine.socket, null);
    const spec = { argv: ['/bin/sh', '-c', 'id'], env: {}, terminal: null };
    for (const user of [null, '0', 'app'])
      await expect(own.exec(id, { ...spec, user })).rejects.toThrow('unreadable users: /etc/passwd');
    gateway.setDesired([desiredInstance(id, 'stopped')]);
    await gateway.phase(id, 'STOPPED');
    gateway.setDesired([running({ start: 2 })]);
    const { message, fault } = await gateway.waitUntil(id, ({ phase, start }) => phase === 'FAILED' && start === 2);
    expect([message, fault]).toEqual([
      "/etc/passwd and /etc/group must be regular files of at most 4 MB, outside the container's mounts",
      'image',
    ]);
  });

  describe('with FUSE', () => {
    const SYS_ADMIN = 1n << 21n;
    const mayMount = async () => {
      const { text } = await engine.exec(id, 'grep', 'CapBnd', '/proc/1/status');
      return (BigInt(`0x${text.trim().split(/\s+/)[1]}`) & SYS_ADMIN) !== 0n;
    };
    const mounts = () =>
      engine.exec(
        id,
        'sh',
        '-c',
        'mkdir -p /mnt && exec 3<>/dev/fuse && mount -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 test /mnt && grep -c " /mnt fuse" /proc/mounts',
      );

    it('has no device and can’t mount if the host doesn’t allow it', async () => {
      gateway.setDesired([running()]);
      await gateway.phase(id, 'RUNNING');
      expect((await engine.exec(id, 'ls', '/dev/fuse')).code).not.toBe(0);
      expect(await mayMount()).toBe(false);
      expect(gateway.reports.at(-1)).toMatchObject({ users: true, fuse: false });
    });

    it.skipIf(!existsSync('/dev/fuse'))('can mount its own file systems if the host allows it', async () => {
      await host.end();
      host.start({ GPU_AGENT_ALLOW_FUSE: '1' });
      expect(await gateway.next()).toMatchObject({ fuse: true });
      gateway.setDesired([running({ gpus: 1 })]);
      await gateway.phase(id, 'RUNNING');
      expect(await mayMount()).toBe(true);
      expect(await mounts()).toEqual({ code: 0, text: '1\n' });
      await host.end();
      host.start();
      expect(await gateway.next()).toMatchObject({ fuse: false });
    });
  });
});

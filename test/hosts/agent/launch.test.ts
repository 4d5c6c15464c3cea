import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { desiredInstance, type TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import { mountsBelow } from '../../support/hosts/leftovers.js';
import { type TestRegistry, UNTIL_TERM } from '../../support/hosts/registry.js';
import { RunningHost } from '../../support/hosts/running-host.js';
import type { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { isLong } from '../../support/long.js';
import { folder } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const STAYS = ['/bin/sh', '-c', UNTIL_TERM];
/** Prints each argument on its own line and keeps running. */
const SHOWS = [
  '/bin/sh',
  '-c',
  'echo begun; for word in "$@"; do echo "<$word>"; done; exec /bin/sh -c "$LOOP"',
  'image',
];
const HARD = { SPACES: 'a  b', QUOTES: `"'$(id)\``, LINES: 'one\ntwo', EQUALS: 'a=b=c', EMPTY: '' };

describe.each<EngineName>(['podman', 'docker'])('a launch on %s', (name) => {
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
    const images = { shows: { entrypoint: SHOWS, command: ['own', 'words'] }, busybox: {} };
    ({ registry, engine, gateway, host } = await opened.open(name, images));
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    tests += 1;
    id = `i-${String(tests).padStart(8, '0')}`;
    gateway.secrets = { variables: {}, files: {}, registryLogin: null };
    gateway.secretsAsked = [];
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
    desiredInstance(id, 'running', { image: `${registry.at}/shows`, env: { LOOP: UNTIL_TERM }, memoryMb: 64, ...rest });
  const written = async () => {
    const log = await engine.docker.getContainer(`gpu-${id}`).logs({ stdout: true, stderr: true });
    return [...log.toString().matchAll(/<(.*)>/g)].map(([, word]) => word);
  };

  it('overrides the entrypoint, the command, both or neither', async () => {
    const cases = [
      [{}, ['own', 'words']],
      [{ command: ['a b', `"'$x`] }, ['a b', `"'$x`]],
      [{ entrypoint: [...SHOWS, 'more'] }, ['more']],
      [{ entrypoint: SHOWS, command: ['mine'] }, ['mine']],
    ] as const;
    for (const [rest, words] of cases) {
      gateway.setDesired([running(rest)]);
      await gateway.phase(id, 'RUNNING');
      await until('its words', async () => (await written()).length >= words.length, 10_000);
      expect(await written()).toEqual(words);
      gateway.setDesired([desiredInstance(id, 'absent')]);
      await gateway.phase(id, 'ERASED');
    }
  });

  it('provides secrets as variables and private files, and nowhere else', async () => {
    gateway.secrets = {
      variables: { TOKEN: 'hush-hush' },
      files: { key: 'line one\nline two\n' },
      registryLogin: null,
    };
    gateway.setDesired([running({ env: { LOOP: UNTIL_TERM, ...HARD }, secrets: true })]);
    await gateway.phase(id, 'RUNNING');
    const seen = async (...command: string[]) => (await engine.exec(id, ...command)).text;
    for (const [variable, value] of Object.entries({ ...HARD, TOKEN: 'hush-hush' }))
      expect(await seen('sh', '-c', `echo "<$${variable}>"`)).toBe(`<${value}>\n`);
    expect(await seen('cat', '/run/secrets/key')).toBe('line one\nline two\n');
    expect(await seen('stat', '-c', '%a %u', '/run/secrets/key')).toBe('400 0\n');
    expect((await engine.exec(id, 'touch', '/run/secrets/other')).code).not.toBe(0);
    expect(mountsBelow(host.dataDir).filter((path) => path.includes('secrets'))).toHaveLength(1);

    // The next start receives them again.
    gateway.setDesired([desiredInstance(id, 'stopped')]);
    await gateway.phase(id, 'STOPPED');
    expect(mountsBelow(host.dataDir).filter((path) => path.includes('secrets'))).toEqual([]);
    gateway.secrets = { ...gateway.secrets, files: { key: 'changed' } };
    gateway.setDesired([running({ env: { LOOP: UNTIL_TERM, ...HARD }, secrets: true, start: 2 })]);
    await gateway.waitUntil(id, ({ phase, start }) => phase === 'RUNNING' && start === 2);
    expect(await seen('cat', '/run/secrets/key')).toBe('changed');
    expect(gateway.secretsAsked).toEqual([`${id} 1`, `${id} 2`]);
    expect(host.log).not.toContain('hush-hush');
    expect(JSON.stringify(gateway.reports)).not.toContain('hush-hush');
  });

  it.each(isLong || name === 'podman' ? ['app', '1234:0'] : ['app'])(
    'makes secret files readable by the image’s user (%s)',
    async (user) => {
      const passwd = join(folder(), 'passwd');
      const users = 'root:x:0:0::/:/bin/sh\napplication:x:7:7::/:/bin/sh\napp:x:1234:1234::/:/bin/sh\n';
      writeFileSync(passwd, users);
      await registry.push('app', { user, files: { '/etc/passwd': passwd }, command: STAYS });
      gateway.secrets = { variables: {}, files: { key: 'of the user' }, registryLogin: null };
      for (const start of [1, 2]) {
        gateway.setDesired([running({ image: `${registry.at}/app`, secrets: true, start })]);
        await gateway.waitUntil(id, (seen) => seen.phase === 'RUNNING' && seen.start === start);
        const seen = await engine.exec(id, 'sh', '-c', 'id -u; stat -c "%a %u" /run/secrets/key; cat /run/secrets/key');
        expect(seen.text).toBe('1234\n400 1234\nof the user');
        gateway.setDesired([desiredInstance(id, 'stopped')]);
        await gateway.phase(id, 'STOPPED');
      }
    },
  );

  itsOwn('fails with the gateway’s message and is charged if its secret is deleted', async () => {
    gateway.secrets = null;
    gateway.setDesired([running({ secrets: true })]);
    const { message, fault } = await gateway.phase(id, 'FAILED');
    expect([message, fault]).toEqual(['there is no secret hf', 'image']);
  });

  it('pulls a private image only with its login', async () => {
    await registry.push('private', { command: STAYS });
    const image = `${registry.closedAt}/private`;
    gateway.secrets = {
      variables: {},
      files: {},
      registryLogin: { registry: registry.closedAt, ...registry.login },
    };
    gateway.setDesired([running({ image })]);
    await gateway.phase(id, 'FAILED');
    const login = gateway.secrets.registryLogin!;
    gateway.secrets = { ...gateway.secrets, registryLogin: { ...login, password: 'another-password' } };
    gateway.setDesired([running({ image, secrets: true, start: 2 })]);
    const refused = await gateway.waitUntil(id, ({ phase, start }) => phase === 'FAILED' && start === 2);
    expect(refused.message).toBe('the registry rejected the login, or has no such image for it');
    gateway.secrets = { ...gateway.secrets, registryLogin: login };
    gateway.setDesired([running({ image, secrets: true, start: 3 })]);
    await gateway.waitUntil(id, ({ phase, start }) => phase === 'RUNNING' && start === 3);
    expect(host.log).not.toContain('another-password');
    expect(host.log).not.toContain(registry.login.password);
  });

  itsOwn('exits with its command if it must not restart, even if no agent is running', async () => {
    const image = `${registry.at}/busybox`;
    const counts = (code: number) => ['/bin/sh', '-c', `echo "<run>"; sleep 0.2; exit ${code}`];
    gateway.setDesired([running({ image, command: counts(7), restart: 'NEVER' })]);
    expect(await gateway.phase(id, 'EXITED')).toMatchObject({ exitCode: 7, restarts: 0, start: 1 });
    await host.end('SIGKILL');
    host.start();
    await gateway.next();
    expect(await gateway.phase(id, 'EXITED')).toMatchObject({ exitCode: 7, start: 1 });
    expect(await written()).toEqual(['run']);

    // A new start runs the command once more, although the container has already exited.
    gateway.setDesired([desiredInstance(id, 'stopped')]);
    await gateway.phase(id, 'STOPPED');
    gateway.setDesired([running({ image, command: counts(7), restart: 'NEVER', start: 2 })]);
    expect(await gateway.waitUntil(id, ({ phase, start }) => phase === 'EXITED' && start === 2)).toMatchObject({
      exitCode: 7,
    });
    expect(await written()).toEqual(['run', 'run']);
    gateway.setDesired([desiredInstance(id, 'absent')]);
    await gateway.phase(id, 'ERASED');

    // The container exits while no agent runs.
    gateway.setDesired([
      running({ image, command: ['/bin/sh', '-c', 'echo "<run>"; sleep 1'], restart: 'ON_FAILURE' }),
    ]);
    await gateway.phase(id, 'RUNNING');
    await host.end('SIGKILL');
    await until('its end', async () => !(await engine.containers()).get(id)!.running, 10_000, POLL_EVERY_MS);
    host.start();
    await gateway.next();
    expect(await gateway.phase(id, 'EXITED')).toMatchObject({ exitCode: 0 });
    expect(await written()).toEqual(['run']);
  });

  itsOwn('restarts after a failure if the launch requests it', async () => {
    const command = ['/bin/sh', '-c', 'exit 7'];
    gateway.setDesired([running({ image: `${registry.at}/busybox`, command, restart: 'ON_FAILURE' })]);
    expect(await gateway.waitUntil(id, ({ restarts }) => restarts >= 1)).toMatchObject({ exitCode: 7 });
  });
});

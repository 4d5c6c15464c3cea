import { expect, test } from 'vitest';
import { readImageName } from '../../src/agent/engine/image-name.js';
import { checkAgent, checkLaunch, type Launch, registryOf, secretsOf } from '../../src/domain/kernel/launch.js';

test.each([
  [{ onExit: 'DESTROY' as const }, 'a command that is always restarted never stops or destroys its instance'],
  [{ env: { A: '1' }, secrets: [{ secret: 's', variable: 'A' }] }, 'secrets must not set A twice'],
  [
    {
      secrets: [
        { secret: 's', file: 'f' },
        { secret: 't', file: 'f' },
      ],
    },
    'secrets must not set /run/secrets/f twice',
  ],
  [{ env: { GPU_COUNT: '8' } }, 'env must not set GPU_COUNT, which the service sets'],
  [
    { secrets: [{ secret: 's', variable: 'GPU_INSTANCE_ID' }] },
    'env must not set GPU_INSTANCE_ID, which the service sets',
  ],
  [{ ports: [{ port: 80 }, { port: 80, name: 'again' }] }, 'ports must not repeat port 80'],
])('a launch with %j is rejected', (launch, message) => {
  expect(() => checkLaunch(launch, 'ON_DEMAND')).toThrow(message);
});

test('a launch without contradictions is accepted', () => {
  checkLaunch({}, 'RESERVED');
  const launch: Launch = {
    env: { A: '1', f: '2' },
    secrets: [
      { secret: 's', file: 'f' },
      { secret: 's', variable: 'B' },
    ],
    restart: 'NEVER',
    onExit: 'STOP',
  };
  checkLaunch(launch, 'RESERVED');
  checkLaunch({ ...launch, onExit: 'DESTROY' }, 'ON_DEMAND');
  expect(() => checkLaunch({ ...launch, onExit: 'DESTROY' }, 'RESERVED')).toThrow("can't be destroyed");
});

test("a launch's secrets are listed once each, including the registry login", () => {
  const secrets = [
    { secret: 's', file: 'f' },
    { secret: 's', variable: 'B' },
  ];
  expect(secretsOf({ secrets, registryLogin: 'hub' })).toEqual(['s', 'hub']);
  expect(secretsOf({})).toEqual([]);
});

test.each([
  [{ hasOldAgent: true, supportsUsers: false }, { restart: 'NEVER' as const, user: 'root' }, 'an entrypoint, secrets'],
  [{ hasOldAgent: true, supportsUsers: false }, { user: 'root' }, 'too old for a user'],
  [{ hasOldAgent: false, supportsUsers: false }, { restart: 'NEVER' as const, user: '0' }, 'too old for a user'],
  [{ hasOldAgent: false, supportsUsers: false }, { restart: 'NEVER' as const }, null],
  [{ hasOldAgent: true, supportsUsers: true }, { user: 'root' }, null],
])('checking an agent with %j for the launch %j results in: %s', (agent, launch, message) => {
  const check = () => checkAgent({ id: 'm-1', ...agent }, launch, 'deploy_failed');
  if (message === null) expect(check).not.toThrow();
  else expect(check).toThrow(message);
});

test('a login is sent to the registry from which the agent pulls', () => {
  const images = [
    'busybox',
    'me/image:1',
    'GHCR.io/me/image',
    'ghcr.io/a/b@sha256:00',
    'localhost/image',
    'host:5000/image',
  ];
  const others = ['index.docker.io/library/busybox', 'Host/image', 'user.name/image', 'a/b.c/d'];
  for (const image of [...images, ...others]) expect(registryOf(image), image).toBe(readImageName(image)!.registry);
  expect(registryOf('me/image')).toBe('docker.io');
});

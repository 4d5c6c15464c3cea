import { describe, expect, it } from 'vitest';
import { readLoginName } from '../../src/access/ssh/login-name.js';
import { engineUser, isRoot } from '../../src/agent/engine/container-user.js';
import { isSuited } from '../../src/agent/engine/runtime.js';
import { desiredState } from '../../src/agent-protocol/protocol.js';
import { isContainerUser, isLoginUser, MAX_CONTAINER_USER } from '../../src/domain/kernel/container-user.js';

const NAME_OF_32 = `a${'b'.repeat(31)}`;
const ONE = ['root', 'coder', '_apt', 'www-data', 'user.name', 'A', '0', '1000', '2147483647', NAME_OF_32];
const PAIRS = ['0:0', 'root:root', '1000:1000', 'coder:0', '0:video', `${NAME_OF_32}:${NAME_OF_32}`];
const NONE = [
  ...['', ' ', ':', 'root:', ':root', ':0', 'root::0', '0:0:0', 'root:0:', '::'],
  ...['-1', '+1', '0-1', '1e3', '0x10', '00', '007', '1.5', '1_000', '2147483648', '4294967295', '4294967296'],
  ...['9'.repeat(40), `${NAME_OF_32}c`, '1000:2147483648', 'root:-1', '-root', '.root', '1user', '٣', '１'],
  ...['ro ot', ' root', 'root ', 'root\n', 'root\n0', 'ro\0ot', 'root\t', 'ro/ot', 'ro\\ot', '$(id)', 'a@b', 'rööt'],
  ...['root,0', 'root;id', "'root'", 'root%', '*', '~'],
];

describe("a container's user", () => {
  it.each([...ONE, ...PAIRS])('can be %j', (user) => {
    expect(isContainerUser(user)).toBe(true);
    expect(user.length).toBeLessThanOrEqual(MAX_CONTAINER_USER);
    // The agent accepts each of them.
    const instance = { id: 'i-00000000', phase: 'running', start: 1, image: 'a', command: null, env: {}, user };
    const size = { gpus: 0, vcpus: 1, memoryMb: 1, diskGb: 1, ports: [] };
    expect(desiredState.safeParse({ generation: 1, instances: [{ ...instance, ...size }] }).success).toBe(true);
  });

  it.each(NONE)('can’t be %j', (user) => {
    expect([isContainerUser(user), isLoginUser(user)]).toEqual([false, false]);
  });

  it.each([
    ['root', '0', true],
    ['0', '0', true],
    ['root:0', '0:0', false],
    ['root:root', '0:root', false],
    ['0:0', '0:0', false],
    ['rooty', 'rooty', false],
    ['1000:root', '1000:root', false],
    ['coder', 'coder', false],
  ])('is passed to engines as id 0 if it is root: %s', (user, passed, isOnlyRoot) => {
    expect([engineUser(user), isRoot(user)]).toEqual([passed, isOnlyRoot]);
  });
});

describe('a command run as another user', () => {
  const spec = { argv: ['/bin/sh', '-c', 'id'], env: {}, terminal: null };

  it('is started by the runtime only if it needs none of the container’s files', () => {
    const suited = [null, 'root', '0', 'coder', '1000', '1000:1000'].map((user) => isSuited({ ...spec, user }));
    expect(suited).toEqual([true, true, true, false, false, false]);
  });
});

describe('a login name', () => {
  const ID = 'i-31f72534';

  it.each(ONE)('names an instance, optionally after %s@', (user) => {
    expect(readLoginName(ID)).toEqual({ instanceId: ID, user: null });
    expect(readLoginName(`${user}@${ID}`)).toEqual({ instanceId: ID, user });
  });

  it.each([...PAIRS, ...NONE])('with %j before @ names no instance', (user) => {
    const { instanceId, user: read } = readLoginName(`${user}@${ID}`);
    expect([instanceId === ID, read === user]).toEqual([false, false]);
  });
});

import { beforeEach, expect, it } from 'vitest';
import type { Engine, PullProgress, RegistryLogin } from '../../../src/agent/engine/engine.js';
import { SharedPulls } from '../../../src/agent/shared-pulls.js';

/** A pull that ends when the test ends it. */
interface EnginePull {
  image: string;
  login: RegistryLogin | null;
  progress(pulledBytes: number): void;
  end(fault?: Error): void;
  signal: AbortSignal;
}

let begun: EnginePull[];
let pulls: SharedPulls;

beforeEach(() => {
  begun = [];
  const pull: Engine['pull'] = (image, login, onProgress, signal) =>
    new Promise((resolve, reject) => {
      const progress = (pulledBytes: number) => onProgress({ pulledBytes, totalBytes: 100 });
      const end = (fault?: Error) => (fault === undefined ? resolve() : reject(fault));
      begun.push({ image, login, progress, end, signal });
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  pulls = new SharedPulls({ pull } as Partial<Engine> as Engine, 2);
});

/** A client that requests an image. */
function want(
  reference: string,
  { login = null, check = null }: { login?: RegistryLogin | null; check?: (() => Promise<void>) | null } = {},
) {
  const received: (number | 'begun')[] = [];
  const leaving = new AbortController();
  const follower = {
    begun: () => received.push('begun'),
    progress: ({ pulledBytes }: PullProgress) => received.push(pulledBytes),
  };
  const ended = pulls.pull({ reference, login, check }, follower, leaving.signal).then(
    () => 'pulled',
    (error: Error) => error.message,
  );
  return { received, ended, leave: () => leaving.abort() };
}

it('concurrent clients share a single pull of an image and each get its progress', async () => {
  const first = want('busybox');
  await expect.poll(() => begun.length).toBe(1);
  begun[0]!.progress(30);
  const second = want('busybox');
  begun[0]!.progress(60);
  begun[0]!.end();
  expect([await first.ended, await second.ended]).toEqual(['pulled', 'pulled']);
  expect([first.received, second.received]).toEqual([
    ['begun', 30, 60],
    ['begun', 30, 60],
  ]);
  expect(begun).toHaveLength(1);
  // The registry may have a newer image by now.
  const later = want('busybox');
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.end(new Error('no such image'));
  expect(await later.ended).toBe('no such image');
});

it("pulls are never shared between different logins or with the operator's images", async () => {
  const login = (username: string) => ({ registry: 'registry.example', username, password: 'hush' });
  let checked = 0;
  const check = async () => {
    checked += 1;
  };
  const wants = [want('a', { login: login('me') }), want('a', { login: login('you') })];
  await expect.poll(() => begun.length).toBe(2);
  expect(begun.map((each) => each.login?.username)).toEqual(['me', 'you']);
  for (const { end } of begun) end();
  await Promise.all(wants.map(({ ended }) => ended));
  const checkedPulls = [want('a', { check }), want('a', { check }), want('a')];
  await expect.poll(() => begun.length).toBe(4);
  for (const { end } of begun) end();
  await Promise.all(checkedPulls.map(({ ended }) => ended));
  expect(checked).toBe(1);
});

it('a forbidden registry is never contacted', async () => {
  const check = () => Promise.reject(new Error('its address is not public'));
  expect(await want('10.0.0.1/a', { check }).ended).toBe('its address is not public');
  expect(begun).toEqual([]);
});

it('a pull continues while any client is waiting and ends when the last one leaves', async () => {
  const [first, second] = [want('large'), want('large')];
  await expect.poll(() => begun.length).toBe(1);
  first.leave();
  expect(await first.ended).toBe('the pull was cancelled');
  expect(begun[0]!.signal.aborted).toBe(false);
  second.leave();
  await second.ended;
  expect(begun[0]!.signal.aborted).toBe(true);
  // A client that arrives at this moment starts a new pull.
  const third = want('large');
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.end();
  expect(await third.ended).toBe('pulled');
});

it('at most two images are pulled concurrently, and none without a waiting client', async () => {
  const wants = ['a', 'a', 'b', 'c', 'd'].map((name) => want(name));
  await expect.poll(() => begun.map(({ image }) => image)).toEqual(['a', 'b']);
  expect(wants[3]!.received).toEqual([]);
  wants[3]!.leave();
  await wants[3]!.ended;
  begun[0]!.end();
  await expect.poll(() => begun.map(({ image }) => image)).toEqual(['a', 'b', 'd']);
  for (const { end } of begun) end();
  expect(await Promise.all(wants.map(({ ended }) => ended))).toEqual([
    'pulled',
    'pulled',
    'pulled',
    'the pull was cancelled',
    'pulled',
  ]);
});

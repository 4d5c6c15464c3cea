import { expect, it } from 'vitest';
import { Limiter } from '../../../src/agent/limiter.js';

/** A job that ends when the test ends it. */
function job(begun: string[], name: string) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async () => {
    begun.push(name);
    await ended;
    return name;
  };
  return { run, end };
}

it('a limiter runs a limited number of jobs at once, in order of arrival', async () => {
  const [limiter, begun] = [new Limiter(2), [] as string[]];
  const jobs = ['a', 'b', 'c', 'd'].map((name) => job(begun, name));
  const done = jobs.map(({ run }) => limiter.run(run));
  expect(begun).toEqual(['a', 'b']);
  jobs[1]!.end();
  expect(await done[1]).toBe('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  jobs[0]!.end();
  await done[0];
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  for (const { end } of jobs) end();
  await Promise.all(done);
  // Both slots are free again.
  const more = ['e', 'f', 'g'].map((name) => job(begun, name));
  const last = more.map(({ run }) => limiter.run(run));
  expect(begun.slice(4)).toEqual(['e', 'f']);
  for (const { end } of more) end();
  expect(await Promise.all(last)).toEqual(['e', 'f', 'g']);
});

it('a limiter skips jobs cancelled before their turn and continues after a failure', async () => {
  const [limiter, begun] = [new Limiter(1), [] as string[]];
  const first = job(begun, 'first');
  const [early, late] = [AbortSignal.abort(), new AbortController()];
  expect(await limiter.run(async () => 'not run', early)).toBeNull();
  const running = limiter.run(async () => {
    await first.run();
    throw new Error('failed');
  });
  const waiting = limiter.run(job(begun, 'waiting').run, late.signal);
  expect(await limiter.run(job(begun, 'given up').run, early)).toBeNull();
  const next = limiter.run(async () => 'next', new AbortController().signal);
  late.abort();
  expect(await waiting).toBeNull();
  first.end();
  await expect(running).rejects.toThrow('failed');
  expect([await next, begun]).toEqual(['next', ['first']]);
});

it("a limiter lends slots for a limited time, so a long job doesn't block the next", async () => {
  const [limiter, begun] = [new Limiter(1, 10), [] as string[]];
  const [long, next, last] = ['long', 'next', 'last'].map((name) => job(begun, name)) as [Job, Job, Job];
  const done = [long, next].map(({ run }) => limiter.run(run));
  await expect.poll(() => begun).toEqual(['long', 'next']);
  long.end();
  next.end();
  expect(await Promise.all(done)).toEqual(['long', 'next']);
  // The slot that was released early isn't released a second time.
  const strict = new Limiter(1, 60_000);
  const more = [last, job(begun, 'waits')].map(({ run }) => strict.run(run));
  expect(begun.slice(2)).toEqual(['last']);
  last.end();
  await more[0];
  await expect.poll(() => begun.slice(2)).toEqual(['last', 'waits']);
});

type Job = ReturnType<typeof job>;

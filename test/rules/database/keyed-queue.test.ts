import { afterEach, describe, expect, it, vi } from 'vitest';
import { KeyedQueue, QueueTimeout } from '../../../src/database/keyed-queue.js';

const LIMIT = { waiting: 200, waitMs: 5_000 };

afterEach(() => {
  vi.useRealTimers();
});

/** A task that ends when the test ends it. */
function heldTask() {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { task: () => ended, end };
}

describe('the write queue', () => {
  it('runs tasks in order for each key, and concurrently for different keys', async () => {
    const queue = new KeyedQueue();
    const log: string[] = [];
    const logged = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${name} ends`);
      return name;
    };
    const results = Promise.all([
      queue.run('a', logged('a1')),
      queue.run('a', logged('a2')),
      queue.run('a', logged('a3')),
      queue.run('b', logged('b1')),
    ]);
    expect(log).toEqual(['a1 begins', 'b1 begins']);
    expect(await results).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(log.filter((line) => line.startsWith('a'))).toEqual([
      'a1 begins',
      'a1 ends',
      'a2 begins',
      'a2 ends',
      'a3 begins',
      'a3 ends',
    ]);
  });

  it('passes on a task’s error and runs the next task', async () => {
    const queue = new KeyedQueue();
    const fault = new Error('broken');
    const first = queue.run('a', () => Promise.reject(fault));
    const second = queue.run('a', async () => 'done');
    await expect(first).rejects.toBe(fault);
    expect(await second).toBe('done');
  });

  it('rejects any task not started within 5 s and keeps the others in order', async () => {
    vi.useFakeTimers();
    const queue = new KeyedQueue();
    const held = heldTask();
    const log: string[] = [];
    const first = queue.run('a', held.task);
    const late = queue.run('a', async () => log.push('late'));
    const refusal = expect(late).rejects.toBeInstanceOf(QueueTimeout);
    await vi.advanceTimersByTimeAsync(LIMIT.waitMs - 1);
    const next = queue.run('a', async () => log.push('next'));
    await vi.advanceTimersByTimeAsync(1);
    await refusal;
    expect(log).toEqual([]);
    held.end();
    await Promise.all([first, next]);
    expect(log).toEqual(['next']);
  });

  it('rejects the 201st waiting task for one key, but not for another', async () => {
    const queue = new KeyedQueue();
    const held = heldTask();
    const first = queue.run('a', held.task);
    const waiting = Array.from({ length: LIMIT.waiting }, (_, index) => queue.run('a', async () => index));
    await expect(queue.run('a', async () => 'too many')).rejects.toBeInstanceOf(QueueTimeout);
    expect(await queue.run('b', async () => 'free')).toBe('free');
    held.end();
    await first;
    expect(await Promise.all(waiting)).toEqual(waiting.map((_, index) => index));
    expect(await queue.run('a', async () => 'again')).toBe('again');
  });
});

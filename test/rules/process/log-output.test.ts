import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { LogOutput, MAX_BUFFERED_BYTES } from '../../../src/logging/log-output.js';

/** A stream that accepts writes when the test allows it. */
class SlowReader extends Writable {
  taken = '';
  #next: (() => void) | null = null;

  constructor() {
    super({ decodeStrings: true });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#next = () => {
      this.taken += chunk;
      done();
    };
  }

  /** Reads all waiting lines and those written in the meantime. */
  async read(): Promise<void> {
    while (this.#next !== null) {
      const next = this.#next;
      this.#next = null;
      next();
      await new Promise(setImmediate);
    }
  }
}

const line = (bytes: number) => `${'x'.repeat(bytes - 1)}\n`;

it('the log buffers 8 MB for a slow reader, then drops lines and reports how many', async () => {
  expect(MAX_BUFFERED_BYTES).toBe(8 * 1_024 * 1_024);
  const reader = new SlowReader();
  const output = new LogOutput(reader);
  const reported: number[] = [];
  output.onDropped = (lines) => {
    reported.push(lines);
    output.write(`dropped ${lines}\n`);
  };
  for (let index = 0; index < 8; index += 1) output.write(line(1_048_576));
  expect([output.dropped, reader.writableLength]).toEqual([0, MAX_BUFFERED_BYTES]);
  output.write('lost\n');
  output.write('lost\nlost\n', 2);
  expect([output.dropped, reader.writableLength, reported]).toEqual([3, MAX_BUFFERED_BYTES, []]);
  await reader.read();
  expect(reported).toEqual([3]);
  expect(reader.taken).toHaveLength(MAX_BUFFERED_BYTES + 'dropped 3\n'.length);
  expect(reader.taken).not.toContain('lost');
  output.write('after\n');
  await reader.read();
  expect(reader.taken).toMatch(/dropped 3\nafter\n$/);
  expect([output.dropped, reported]).toEqual([3, [3]]);
});

it('the log counts lines that could not be written and continues', async () => {
  const broken = new Writable({
    write: (_chunk, _encoding, done) => done(new Error('no space left')),
    autoDestroy: false,
  });
  const output = new LogOutput(broken);
  output.write('one\n');
  await new Promise(setImmediate);
  expect(output.dropped).toBe(1);
});

it('the log waits for its reader only for a limited time', async () => {
  const reader = new SlowReader();
  const output = new LogOutput(reader);
  await output.written(60_000);
  output.write('last\n');
  const began = performance.now();
  await output.written(50);
  expect(performance.now() - began).toBeGreaterThan(40);
  const written = output.written(60_000);
  await reader.read();
  await written;
  expect(reader.taken).toBe('last\n');
});

import { PassThrough, type Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Demux, LogDemux } from '../../../src/agent/engine/demux.js';
import { lastLines } from '../../../src/agent/tunnels/last-lines.js';
import { markedLines } from '../../../src/agent/tunnels/marked-lines.js';

const textOf = (stream: PassThrough) => String(stream.read() ?? '');
const written = (stream: Writable, chunk: Buffer | string) =>
  new Promise<void>((resolve) => stream.write(Buffer.from(chunk), () => resolve()));

/** Frames an output as engines do: stream number, three zeros, length and bytes. */
function piece(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe("a command's two outputs", () => {
  const both = Buffer.concat([piece(1, 'out'), piece(2, 'error'), piece(1, ''), piece(1, 'more')]);

  it.each([1, 2, 3, 7, 8, 9, 100])('are separated even if they arrive in chunks of %i bytes', async (size) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const demux = new Demux(stdout, stderr);
    for (let at = 0; at < both.length; at += size) await written(demux, both.subarray(at, at + size));
    expect([textOf(stdout), textOf(stderr)]).toEqual(['outmore', 'error']);
  });

  it('wait for a slow reader until it closes', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough({ highWaterMark: 4 })];
    const demux = new Demux(stdout, stderr);
    let isWritten = false;
    const done = written(demux, piece(2, 'longer')).then(() => {
      isWritten = true;
    });
    await nextTurn();
    expect(isWritten).toBe(false);
    expect(textOf(stderr)).toBe('longer');
    await done;
    const last = written(demux, piece(2, 'longer'));
    stderr.destroy();
    await last;
    await written(demux, piece(2, 'longer'));
    stdout.destroy();
    await nextTurn();
    expect(demux.destroyed).toBe(true);
  });
});

it.each([1, 5, 100])('a line that the engine sends in chunks of %i bytes is reassembled', async (size) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const demux = new LogDemux(stdout, stderr);
  const log = Buffer.concat([
    piece(1, 'T1 out-piece'),
    piece(2, 'T2 err line\n'),
    piece(1, 'T3  rest\n'),
    piece(2, 'T4 10%\r'),
    piece(1, 'T5 \n'),
    piece(2, 'T6 20%\r'),
  ]);
  for (let at = 0; at < log.length; at += size) await written(demux, log.subarray(at, at + size));
  expect([textOf(stdout), textOf(stderr)]).toEqual(['T1 out-piece rest\nT5 \n', 'T2 err line\nT4 10%\r20%\r']);
});

const marks = (letter: string) => ({ whole: letter, unfinished: `${letter}?` });

describe('marked lines', () => {
  it('share a stream without being split', async () => {
    const target = new PassThrough();
    const [out, error] = [markedLines(target, marks('1'), false), markedLines(target, marks('2'), false)];
    await written(out, 'T b');
    await written(error, 'T one\nT two');
    await written(out, 'egun\n\nT last');
    error.end();
    out.end();
    await nextTurn();
    expect(textOf(target)).toBe('2T one\n1T begun\n1\n2?T two\n1?T last\n');
  });

  it('contain only what a terminal would show', async () => {
    const target = new PassThrough();
    const out = markedLines(target, marks('1'), false);
    for (const chunk of ['T 10', '%\r20%', '\r30%\r', '\r\n', 'T \r\n', 'T ab\r', 'c']) await written(out, chunk);
    out.end();
    await nextTurn();
    expect(textOf(target)).toBe('1T 30%\n1T \n1?T c\n');
  });

  it('are shown within a second, even unfinished, if a client is following them', async () => {
    vi.useFakeTimers();
    try {
      const target = new PassThrough();
      const out = markedLines(target, marks('1'), true);
      out.write(Buffer.from('T 10%\r'));
      vi.advanceTimersByTime(500);
      out.write(Buffer.from('20%\r'));
      expect(textOf(target)).toBe('');
      vi.advanceTimersByTime(500);
      expect(textOf(target)).toBe('1?T 20%\n');
      vi.advanceTimersByTime(10_000);
      out.write(Buffer.from('done\n'));
      vi.advanceTimersByTime(10_000);
      expect(textOf(target)).toBe('1T done\n');
    } finally {
      vi.useRealTimers();
    }
  });

  it('are cut at 64 kB, after which the next line is complete again', async () => {
    const target = new PassThrough({ highWaterMark: 1_000_000 });
    const out = markedLines(target, marks('1'), false);
    await written(out, `T ${'x'.repeat(65_530)}`);
    await written(out, `${'y'.repeat(20)}\nT z\n`);
    expect(textOf(target)).toBe(`1T ${'x'.repeat(65_530)}${'y'.repeat(6)}\n1T z\n`);
    out.end();
    await nextTurn();
    expect(target.read()).toBeNull();
  });

  it('wait for a slow stream, but not for a closed one', async () => {
    const target = new PassThrough({ highWaterMark: 2 });
    const out = markedLines(target, marks('1'), false);
    let isWritten = false;
    const done = written(out, 'long\n').then(() => {
      isWritten = true;
    });
    await nextTurn();
    expect(isWritten).toBe(false);
    target.resume();
    await done;
    target.destroy();
    await nextTurn();
    await written(out, 'more\n');
  });
});

it('the last lines are passed on when the output ends', async () => {
  const target = new PassThrough();
  const last = lastLines(target, 2);
  for (const chunk of ['1\n2\n', '3\n', '4\n5\n', '6\n']) await written(last, chunk);
  expect(textOf(target)).toBe('');
  last.end();
  await nextTurn();
  expect(textOf(target)).toBe('5\n6\n');
});

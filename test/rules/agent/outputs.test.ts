import { PassThrough, type Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Demux } from '../../../src/agent/engine/demux.js';
import { markedLines } from '../../../src/agent/tunnels/marked-lines.js';

const textOf = (stream: PassThrough) => String(stream.read() ?? '');
const written = (stream: Writable, chunk: Buffer | string) =>
  new Promise<void>((resolve) => stream.write(Buffer.from(chunk), () => resolve()));

/** Frames an output as engines do: stream, three zeros, length, bytes. */
function piece(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe('the two outputs of a command', () => {
  const both = Buffer.concat([piece(1, 'out'), piece(2, 'error'), piece(1, ''), piece(1, 'more')]);

  it.each([1, 2, 3, 7, 8, 9, 100])('are split, in chunks of %i bytes', async (size) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const demux = new Demux(stdout, stderr);
    for (let at = 0; at < both.length; at += size) await written(demux, both.subarray(at, at + size));
    expect([textOf(stdout), textOf(stderr)]).toEqual(['outmore', 'error']);
  });

  it('wait for a slow reader until it is closed', async () => {
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

describe('marked lines', () => {
  it('share a stream without being split', async () => {
    const target = new PassThrough();
    const [out, error] = [markedLines(target, '1'), markedLines(target, '2')];
    await written(out, 'be');
    await written(error, 'one\ntwo');
    await written(out, 'gun\n\nlast');
    error.end();
    out.end();
    await nextTurn();
    expect(textOf(target)).toBe('2one\n1begun\n1\n2two\n1last\n');
  });

  it('are cut at 64 kB, after which lines are complete again', async () => {
    const target = new PassThrough({ highWaterMark: 1_000_000 });
    const out = markedLines(target, '1');
    await written(out, 'x'.repeat(65_530));
    await written(out, `${'y'.repeat(20)}\nz\n`);
    expect(textOf(target)).toBe(`1${'x'.repeat(65_530)}${'y'.repeat(6)}\n1z\n`);
    out.end();
    await nextTurn();
    expect(target.read()).toBeNull();
  });

  it('wait for a slow stream, but not for a closed one', async () => {
    const target = new PassThrough({ highWaterMark: 2 });
    const out = markedLines(target, '1');
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

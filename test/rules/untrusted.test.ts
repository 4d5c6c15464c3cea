import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { SftpShell } from '../../src/access/ssh/sftp-shell.js';
import type { Tunnel } from '../../src/access/tunnels.js';
import { ByteQueue } from '../../src/std/untrusted/byte-queue.js';
import { checkJson, JsonTooLarge, MAX_JSON_DEPTH, parseJson } from '../../src/std/untrusted/json.js';
import { LastBytes, lastLine } from '../../src/std/untrusted/last-line.js';
import { LineSplitter } from '../../src/std/untrusted/line-splitter.js';

describe('bytes that arrive in pieces', () => {
  it('are each copied only a few times, no matter how small the pieces are', () => {
    const queue = new ByteQueue();
    const taken: Buffer[] = [];
    for (let n = 0; n < 300_000; n += 1) {
      queue.push(Buffer.from([n % 251]));
      if (n % 1_000 === 999) taken.push(queue.take(500));
    }
    taken.push(queue.take());
    expect(queue.length).toBe(0);
    const all = Buffer.concat(taken);
    expect(all).toHaveLength(300_000);
    expect(all.every((byte, index) => byte === index % 251)).toBe(true);
  });

  it('are assembled into lines, each of which is cut if overlong', () => {
    const lines = new LineSplitter(8);
    expect(lines.push(Buffer.from('one\n\ntw'))).toEqual(['one', '']);
    expect(lines.push(Buffer.from('o\nas long as this'))).toEqual(['two']);
    expect(lines.isOverlong).toBe(true);
    expect(lines.push(Buffer.from('\nlast'))).toEqual(['as long ']);
    expect(lines.rest()).toBe('last');
  });

  it('yield a last line that is short enough for a message', () => {
    expect(lastLine(Buffer.from('first\nlast\n'))).toBe('last');
    expect(lastLine(Buffer.from(`${'x'.repeat(100_000)}\n${'y'.repeat(100_000)}`))).toBe('y'.repeat(300));
    const words = new LastBytes();
    for (const piece of ['a'.repeat(10_000), '\nthe la', 'st']) words.push(Buffer.from(piece));
    expect([words.bytes.length, lastLine(words.bytes)]).toEqual([4_096, 'the last']);
  });
});

describe('JSON', () => {
  const nested = (depth: number) => Buffer.from(`{"a":"[[\\"[{","b":${'['.repeat(depth)}${']'.repeat(depth)}}`);

  it('may nest at most 64 levels deep, not counting brackets in strings', () => {
    expect(parseJson(nested(MAX_JSON_DEPTH - 1))).toMatchObject({ a: '[["[{' });
    expect(() => parseJson(nested(MAX_JSON_DEPTH))).toThrow('the JSON may nest at most 64 levels');
    expect(() => checkJson(Buffer.from('{"a":'.repeat(100)))).toThrow(JsonTooLarge);
    expect(parseJson(Buffer.from(JSON.stringify('['.repeat(200))))).toBe('['.repeat(200));
    expect(() => parseJson(Buffer.from('"['.repeat(100)))).toThrow(SyntaxError);
  });

  it('may have at most the given number of values', () => {
    const of = (count: number) => Buffer.from(JSON.stringify(Array.from({ length: count }, () => 0)));
    expect(parseJson(of(50), { maxValues: 50 })).toHaveLength(50);
    expect(() => parseJson(of(51), { maxValues: 50 })).toThrow('the JSON may have at most 50 values');
  });
});

/** Returns a shell in a container. `answer` gives the shell's response to each command. */
function shellThat(answer: (mark: string) => (string | Buffer)[]): SftpShell {
  const tunnel = new Duplex({
    read: () => {},
    write: (command: Buffer, _encoding, done) => {
      for (const piece of answer(/\[[0-9a-f]{32}\]/.exec(String(command))![0])) tunnel.push(piece);
      done();
    },
  });
  const stderr = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  return new SftpShell(Object.assign(tunnel, { stderr }) as unknown as Tunnel);
}

describe('a shell in an image', () => {
  it.each([
    ['six million digits', `81a4 ${'9'.repeat(6_000_000)} 0 0 1 1`],
    ['more than 64 bits', '81a4 18446744073709551616 0 0 1 1'],
    ['text instead of a number', '81a4 many 0 0 1 1'],
    ['nothing', ''],
  ])('is rejected if it prints %s as a size', async (_what, line) => {
    const beganMs = performance.now();
    await expect(shellThat((mark) => [`${line}\n${mark}0\n`]).stat('/file', true)).rejects.toThrow(
      /too much output|printed no attributes/,
    );
    expect(performance.now() - beganMs).toBeLessThan(1_000);
  });

  it('reports why a command failed in a short message', async () => {
    const failing = shellThat((mark) => [`${'x'.repeat(60_000)}${mark}1\n`]);
    await expect(failing.run('false')).rejects.toMatchObject({ message: 'x'.repeat(300) });
  });

  it('ends a command only at its end marker, no matter how many pieces it arrives in', async () => {
    const shell = shellThat((mark) => ['out', `${mark}no`, ...[...`put${mark}0\n`].map((byte) => Buffer.from(byte))]);
    expect(String(await shell.run('true'))).toMatch(/^out\[[0-9a-f]{32}\]noput$/);
    expect(String(await shell.run('true'))).toMatch(/^out/);
  });

  it('lists a folder line by line, skipping lines that no genuine stat would print', async () => {
    const own = (command: string) => /'([0-9a-f]{16}) %f/.exec(command)![1]!;
    const tunnel = new Duplex({
      read: () => {},
      write: (command: Buffer, _encoding, done) => {
        const [mark, line] = [/\[[0-9a-f]{32}\]/.exec(String(command))![0], own(String(command))];
        const lines = ['81a4 7 0 0 1 2 ./a b\nc', `81a4 ${'9'.repeat(100_000)} 0 0 1 2 ./huge`, '81a4 7 0 0 1 2 ./x/y'];
        tunnel.push(`${lines.map((each) => `${line} ${each}\n`).join('')}${mark}0\n`);
        done();
      },
    });
    const stderr = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
    const { entries } = await new SftpShell(Object.assign(tunnel, { stderr }) as unknown as Tunnel).list('/');
    expect([...{ [Symbol.iterator]: () => entries }].map((entry) => entry?.name ?? null)).toEqual([
      'a b\nc',
      null,
      null,
    ]);
  });
});

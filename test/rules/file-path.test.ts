import { describe, expect, it } from 'vitest';
import { checkNewPath, checkPath, nameOf } from '../../src/domain/kernel/file-path.js';

const refused = (check: (path: Buffer) => unknown, ...paths: (string | Buffer)[]) =>
  paths.map((path) => {
    try {
      check(Buffer.from(path));
      return 'taken';
    } catch (error) {
      return (error as Error).message;
    }
  });

describe('a path in a container', () => {
  it('is absolute, has no zero bytes and is not too long for Linux', () => {
    expect(
      refused(checkPath, '', 'a', '/a\0', `/${'x'.repeat(4_095)}`, `/${'x'.repeat(4_094)}`, '/', '/a/../b'),
    ).toEqual([
      'path must begin with /',
      'path must begin with /',
      'path must not contain NUL bytes',
      'path must have at most 4095 bytes',
      'taken',
      'taken',
      'taken',
    ]);
    expect(refused(checkPath, Buffer.from([0x2f, 0xff, 0xfe]))).toEqual(['taken']);
  });

  it('must end with a name to be created or removed', () => {
    const words = 'path must end with a name of 1 to 255 bytes that is neither . nor ..';
    const paths = ['/', '/a/', '/a/.', '/a/..', `/${'x'.repeat(256)}`, `/${'x'.repeat(255)}`, '/...', '/a'];
    expect(refused(checkNewPath, ...paths)).toEqual([words, words, words, words, words, 'taken', 'taken', 'taken']);
    expect(refused(checkNewPath, 'a')).toEqual(['path must begin with /']);
    expect(nameOf(Buffer.from('/a/b c')).toString()).toBe('b c');
  });
});

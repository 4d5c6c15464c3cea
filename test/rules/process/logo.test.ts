import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/compose/config.js';
import { readLogo } from '../../../src/compose/logo.js';
import { scratchFolder } from '../../support/scratch.js';

const folder = scratchFolder('logo-');
const SVG = '<?xml version="1.0"?>\n<!-- a --><!-- b -->\n<svg xmlns="http://www.w3.org/2000/svg"/>';
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

function written(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("the operator's logo", () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is an SVG or PNG file, which may be behind a link', () => {
    expect(readLogo(written('logo', SVG))).toEqual({ type: 'image/svg+xml', content: Buffer.from(SVG) });
    expect(readLogo(written('largest', SVG.padEnd(65_536)))).toMatchObject({ type: 'image/svg+xml' });
    written('logo.png', PNG);
    symlinkSync('logo.png', join(folder, 'link'));
    expect(readLogo(join(folder, 'link'))).toEqual({ type: 'image/png', content: PNG });
  });

  it('is refused with the reason if it is anything else', () => {
    mkdirSync(join(folder, 'folder'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    symlinkSync('/dev/zero', join(folder, 'zero'));
    const refused: [string, string][] = [
      [join(folder, 'none'), "can't be read: ENOENT"],
      [join(folder, 'folder'), 'is not a file'],
      [join(folder, 'pipe'), 'is not a file'],
      [join(folder, 'zero'), 'is not a file'],
      [written('huge', SVG.padEnd(65_537)), 'has 65537 bytes, more than 65536'],
      [written('empty', ''), 'is neither an SVG nor a PNG file'],
      [written('page', '<!doctype html><svg></svg>'), 'is neither an SVG nor a PNG file'],
      [written('binary', Buffer.concat([Buffer.from([0xff]), Buffer.from(SVG)])), 'is neither an SVG nor a PNG file'],
      // A pattern that tries every split of the comments would take years.
      [written('comments', '<!---->'.repeat(9_000)), 'is neither an SVG nor a PNG file'],
    ];
    for (const [path, why] of refused)
      expect(() => readLogo(path), path).toThrow(
        new ConfigError(`CONSOLE_LOGO must be an SVG or PNG file of at most 64 kB: ${path} ${why}`),
      );
  });
});

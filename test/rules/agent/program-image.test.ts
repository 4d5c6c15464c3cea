import { execFileSync } from 'node:child_process';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { tarOfProgram } from '../../../src/agent/engine/program-image.js';

it.each([1, 512, 100_000])('the archive contains only the executable program of %i bytes', async (size) => {
  const program = Buffer.alloc(size, 'x');
  const archive = await buffer(tarOfProgram(program));
  const listed = execFileSync('tar', ['-tv', '--utc'], { input: archive, encoding: 'utf8' });
  expect(listed).toMatch(new RegExp(`^-rwxr-xr-x 0/0 +${size} 1970-01-01 00:00 program\n$`));
  expect(execFileSync('tar', ['-xO', 'program'], { input: archive }).equals(program)).toBe(true);
  expect((await buffer(tarOfProgram(program))).equals(archive)).toBe(true);
});

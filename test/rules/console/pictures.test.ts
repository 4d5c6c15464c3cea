import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PICTURES } from '../../../src/domain/kernel/template.js';

it('draws each template picture that the service knows', () => {
  const sprite = readFileSync(new URL('../../../web/pictures.svg', import.meta.url), 'utf8');
  const screen = readFileSync(new URL('../../../web/screens/pictures.tsx', import.meta.url), 'utf8');
  expect(Array.from(sprite.matchAll(/<symbol id="(\w+)"/g), ([, id]) => id)).toEqual([...PICTURES]);
  expect(Array.from(screen.matchAll(/^ {2}(\w+): '[a-e]'/gm), ([, id]) => id)).toEqual([...PICTURES]);
});

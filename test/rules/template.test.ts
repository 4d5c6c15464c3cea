import { describe, expect, it } from 'vitest';
import type { Launch } from '../../src/domain/kernel/launch.js';
import {
  checkVariables,
  isPinned,
  pathWithValues,
  type TemplateVariable,
  variablesToGenerate,
  withValues,
} from '../../src/domain/kernel/template.js';

const variable = (name: string, rest: Partial<TemplateVariable> = {}) => ({ name, description: name, ...rest });

describe('a required variable', () => {
  const terms = {
    slug: 'serve',
    env: { MODE: 'fast', EMPTY: '' },
    variables: [
      variable('MODEL', { required: true }),
      variable('TOKEN', { required: true, secret: true }),
      variable('MODE', { required: true }),
      variable('PASSWORD', { required: true, made: true, secret: true }),
      variable('OTHER'),
    ],
  };
  const secrets = [{ secret: 'hf', variable: 'TOKEN' }];

  it.each<[string, Launch, string | null]>([
    ['is named along with the others if it has no value', {}, 'MODEL, TOKEN'],
    ['may be given as text', { env: { MODEL: 'a', TOKEN: 'b' } }, null],
    ['may be given as a secret', { env: { MODEL: 'a' }, secrets }, null],
    ['must not be given as a file', { env: { MODEL: 'a' }, secrets: [{ secret: 'hf', file: 'TOKEN' }] }, 'TOKEN'],
    ['must not be empty', { env: { MODEL: '' }, secrets }, 'MODEL'],
    ['counts as missing if its default is removed', { env: { MODEL: 'a', MODE: '' }, secrets }, 'MODE'],
  ])('%s', (_what, launch, missing) => {
    const check = () => checkVariables(terms, launch);
    if (missing === null) expect(check).not.toThrow();
    else expect(check).toThrow(`env must have a value for ${missing}, which the template serve needs`);
  });

  it('is generated unless the renter provides a value, even an empty one', () => {
    expect(variablesToGenerate(terms, {})).toEqual(['PASSWORD']);
    expect(variablesToGenerate(terms, { env: { PASSWORD: '' } })).toEqual([]);
    expect(variablesToGenerate(terms, { secrets: [{ secret: 'hf', variable: 'PASSWORD' }] })).toEqual([]);
  });
});

it("a command's variables are replaced by their values unless they are unknown", () => {
  const env = { MODEL: 'a/b $(MODE)', MODE: 'x y' };
  const words = ['--model', '$(MODEL)', 'in $(MODE)$(MODE)', '$(date)', '$(toString)', '$MODEL', '$(MODEL'];
  expect(withValues(words, env)).toEqual([
    '--model',
    'a/b $(MODE)',
    'in x yx y',
    '$(date)',
    '$(toString)',
    '$MODEL',
    '$(MODEL',
  ]);
});

it("a path's values are percent-encoded, and a query missing a value is dropped", () => {
  expect(pathWithValues('/lab?token=$(TOKEN)&x=1', { TOKEN: 'a&b=/"<' })).toBe('/lab?token=a%26b%3D%2F%22%3C&x=1');
  expect(pathWithValues('/lab?token=$(TOKEN)', { OTHER: 'a' })).toBe('/lab');
  expect(pathWithValues('/$(TOKEN)/x', {})).toBe('/');
  expect(pathWithValues('/', {})).toBe('/');
});

it.each<[string, boolean]>([
  ['a/b', false],
  ['a/b:latest', false],
  ['a/b:main-latest', false],
  ['localhost:5000/b', false],
  ['localhost:5000/b:1', true],
  ['a/b:v0.11.0', true],
  ['a/b:latest-cuda12', true],
  [`a/b@sha256:${'0'.repeat(64)}`, true],
])('%s is pinned: %s', (image, is) => {
  expect(isPinned(image)).toBe(is);
});

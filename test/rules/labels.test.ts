import { describe, expect, it } from 'vitest';
import { hasLabels, parseSelector } from '../../src/domain/instances/rules/labels.js';

describe('a label selector', () => {
  it('has pairs and keys, with an equals sign allowed in a value', () => {
    expect(parseSelector('team=vision,run,args=a=b,empty=')).toEqual({
      pairs: { team: 'vision', args: 'a=b', empty: '' },
      keys: ['run'],
    });
  });

  it.each([
    '',
    'team=vision,',
    '=vision',
    '-team=vision',
    'team=a,team=b',
    '__proto__=x',
    'team=\u0000',
    `${'k'.repeat(64)}=v`,
    `k=${'v'.repeat(129)}`,
    Array.from({ length: 17 }, (_, index) => `k${index}`).join(','),
  ])('is not %j', (text) => {
    expect(parseSelector(text)).toBeNull();
  });

  it('matches labels that have all of its pairs and keys', () => {
    const selector = parseSelector('team=vision,run')!;
    expect(hasLabels({ team: 'vision', run: '', other: 'x' }, selector)).toBe(true);
    expect(hasLabels({ team: 'vision' }, selector)).toBe(false);
    expect(hasLabels({ team: 'audio', run: '' }, selector)).toBe(false);
    expect(hasLabels(null, selector)).toBe(false);
    expect(hasLabels({}, parseSelector('constructor')!)).toBe(false);
    expect(hasLabels({ constructor: 'x' }, parseSelector('constructor=x')!)).toBe(true);
  });
});

import { describe, expect, it } from 'vitest';
import { foundCommands } from '../../../web/state/command-search.js';

const command = (name: string, { words = '', hint = '', isFirst = false } = {}) => ({ name, words, hint, isFirst });

describe('the palette', () => {
  const all = [
    command('train-llm', { hint: '1 × NVIDIA H100 SXM5, running' }),
    command('Stop train-llm'),
    command('Money', { words: 'balance credit', isFirst: true }),
    command('Add credit', { words: 'top up', isFirst: true }),
    command('NVIDIA H100 SXM5', { words: 'h100-sxm h100sxm' }),
  ];
  const names = (typed: string) => foundCommands(all, typed).map(({ name }) => name);

  it('shows first things where nothing is typed', () => {
    expect(names('')).toEqual(['Money', 'Add credit']);
    expect(names('   ')).toEqual(['Money', 'Add credit']);
  });

  it('finds every word somewhere in name, hint or other words, whatever their case', () => {
    expect(names('CREDIT')).toEqual(['Add credit', 'Money']);
    expect(names('running train')).toEqual(['train-llm']);
    expect(names('h100sxm')).toEqual(['NVIDIA H100 SXM5']);
    expect(names('train nothing')).toEqual([]);
  });

  it('puts names that begin so first, then names with a word that does', () => {
    expect(names('train')).toEqual(['train-llm', 'Stop train-llm']);
    expect(names('h100')).toEqual(['NVIDIA H100 SXM5', 'train-llm']);
    expect(names('stop tr')).toEqual(['Stop train-llm']);
    expect(names('llm')).toEqual(['train-llm', 'Stop train-llm']);
  });

  it('shows 40 at most', () => {
    expect(
      foundCommands(
        Array.from({ length: 100 }, () => command('same')),
        'same',
      ),
    ).toHaveLength(40);
  });
});

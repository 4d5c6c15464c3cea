import { describe, expect, it } from 'vitest';
import { foundCommands } from '../../../web/state/command-search.js';

const command = (name: string, { keywords = '', hint = '', isFirst = false } = {}) => ({
  name,
  keywords,
  hint,
  isFirst,
});

describe('the command palette', () => {
  const all = [
    command('train-llm', { hint: '1 × NVIDIA H100 SXM5, running' }),
    command('Stop train-llm'),
    command('Money', { keywords: 'balance credit', isFirst: true }),
    command('Add credit', { keywords: 'top up', isFirst: true }),
    command('NVIDIA H100 SXM5', { keywords: 'h100-sxm h100sxm' }),
  ];
  const names = (typed: string) => foundCommands(all, typed).map(({ name }) => name);

  it('shows the primary entries if nothing is typed', () => {
    expect(names('')).toEqual(['Money', 'Add credit']);
    expect(names('   ')).toEqual(['Money', 'Add credit']);
  });

  it('finds entries with every word in their name, hint or keywords, ignoring case', () => {
    expect(names('CREDIT')).toEqual(['Add credit', 'Money']);
    expect(names('running train')).toEqual(['train-llm']);
    expect(names('h100sxm')).toEqual(['NVIDIA H100 SXM5']);
    expect(names('train nothing')).toEqual([]);
  });

  it('lists names that begin with the text first, then names with a matching word', () => {
    expect(names('train')).toEqual(['train-llm', 'Stop train-llm']);
    expect(names('h100')).toEqual(['NVIDIA H100 SXM5', 'train-llm']);
    expect(names('stop tr')).toEqual(['Stop train-llm']);
    expect(names('llm')).toEqual(['train-llm', 'Stop train-llm']);
  });

  it('shows at most 40 entries', () => {
    expect(
      foundCommands(
        Array.from({ length: 100 }, () => command('same')),
        'same',
      ),
    ).toHaveLength(40);
  });
});

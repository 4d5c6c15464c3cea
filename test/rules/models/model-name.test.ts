import { describe, expect, test } from 'vitest';
import { modelName } from '../../../src/domain/models/rules/model-name.js';

const HUB = 'huggingface.co';

describe('the name of a model', () => {
  test.each([
    ['Qwen/Qwen2.5-7B-Instruct', 'Qwen/Qwen2.5-7B-Instruct'],
    ['  meta-llama/Llama-3.1-8B \n', 'meta-llama/Llama-3.1-8B'],
    ['https://huggingface.co/Qwen/Qwen2.5-7B-Instruct', 'Qwen/Qwen2.5-7B-Instruct'],
    ['https://huggingface.co/a/b/tree/main?x=1#y', 'a/b'],
    [`a/${'b'.repeat(96)}`, `a/${'b'.repeat(96)}`],
  ])('%s is accepted', (text, name) => {
    expect(modelName(text, HUB)).toBe(name);
  });

  test.each([
    'gpt2',
    '',
    'a/b/c',
    '/a/b',
    'a/..',
    '../a',
    'a/b..c',
    'a/b--c',
    '.a/b',
    'a/b.',
    'a/-b',
    'a/b?x',
    'a/b#x',
    'a/b%2e',
    'a/b c',
    'a\\b/c',
    'a/bé',
    'a/b\u0000',
    `a/${'b'.repeat(97)}`,
    'https://huggingface.co/a',
    'https://huggingface.co/a/%2e%2e/b',
    'https://huggingface.co.evil.example/a/b',
    'https://evil.example/a/b',
    'https://huggingface.co@evil.example/a/b',
    'https://user:key@huggingface.co/a/b',
    'https://huggingface.co:8443/a/b',
    'ftp://huggingface.co/a/b',
    'file:///a/b',
    '//evil.example/a/b',
  ])('%j is refused', (text) => {
    expect(() => modelName(text, HUB)).toThrow(
      'model must be a name such as Qwen/Qwen2.5-7B-Instruct, or its URL at huggingface.co',
    );
  });
});

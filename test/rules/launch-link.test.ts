import { describe, expect, it } from 'vitest';
import { launchLink } from '../../src/domain/templates/rules/launch-link.js';

const URL_ = 'https://gpu.example.com';
const link = (launch: object, variables: object[] | null = null, template = 'serve') =>
  launchLink(
    URL_,
    { template, diskGb: 50, launch },
    variables === null ? null : { vramGb: null, variables: variables as never },
  );
const membersOf = (text: string) =>
  [...new URL(text).searchParams].filter(([name]) => !['template', 'image', 'deploy-disk'].includes(name));

describe('a launch link for a saved template', () => {
  it('has no value for a generated variable and doesn’t request one', () => {
    const variables = [
      { name: 'JUPYTER_TOKEN', description: '', made: true },
      { name: 'LOGIN', description: '', made: true, secret: true },
    ];
    const launch = {
      env: { JUPYTER_TOKEN: 'my-own', LOGIN: 'my-own', MODE: 'fast' },
      secrets: [{ secret: 'x', variable: 'HF_TOKEN' }],
    };
    expect(membersOf(link(launch, variables))).toEqual([
      ['secret', 'HF_TOKEN'],
      ['env.MODE', 'fast'],
    ]);
  });

  it.each([
    'HF_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'api_key',
    'PASSWORD',
    'DB_PASSWD',
    'APP_SECRET',
    'GH_PAT',
    'KEY',
    'GOOGLE_CREDENTIALS',
  ])('has no value for an undescribed variable with a secret’s name: %s', (name) => {
    for (const variables of [null, []])
      expect(membersOf(link({ env: { [name]: 'typed-in-clear' } }, variables))).toEqual([['secret', name]]);
  });

  it.each(['MAX_TOKENS', 'TOKENIZER', 'KEYBOARD', 'TOKENIZERS_PARALLELISM', 'MODEL', 'PATTERN'])(
    'has the value of %s',
    (name) => {
      expect(membersOf(link({ env: { [name]: 'seen' } }))).toEqual([[`env.${name}`, 'seen']]);
    },
  );

  it('has the value of a variable that its template describes as not secret', () => {
    const variables = [{ name: 'SORT_KEY', description: 'What to sort by' }];
    expect(membersOf(link({ env: { SORT_KEY: 'size' } }, variables))).toEqual([['env.SORT_KEY', 'size']]);
  });

  it('never exceeds the length that servers accept, omitting parts if necessary', () => {
    const env = Object.fromEntries(Array.from({ length: 29 }, (_, index) => [`A${index}`, '%'.repeat(900)]));
    const ports = [{ port: 8000, name: 'API' }];
    const text = link({ name: 'mine', env: { ...env, LAST: 'short' }, command: ['serve'], ports }, []);
    expect(text.length).toBeLessThanOrEqual(8_000);
    expect(membersOf(text)).toEqual([
      ['name', 'mine'],
      ['command', 'serve'],
      ['port', '8000:API'],
      ['env.A0', env.A0],
      ['env.A1', env.A1],
      ['env.LAST', 'short'],
    ]);
    const words = Array.from({ length: 12 }, () => '%'.repeat(900));
    // A truncated command would be a different command.
    expect(membersOf(link({ command: words }, []))).toEqual([]);
  });
});

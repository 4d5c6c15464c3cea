import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportAccount } from '../../../src/domain/accounts/export-account.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const SAVED = `name description template diskGb link launch { name env command entrypoint restart onExit tcpPorts
  registryLogin user secrets { secret variable file } ports { port name } }`;
const SAVE = `mutation($input: SavedTemplateInput!) { saveTemplate(input: $input) { ${SAVED} } }`;
const HOSTILE = '<img src=x onerror=alert(1)> \u202e';

describe('a saved template', () => {
  let service: Service;
  let renter: Renter;

  beforeAll(async () => {
    service = await startService();
    renter = await service.renter();
  });
  afterAll(() => service.close());

  const save = async (input: object, caller = renter) => (await caller.graphql(SAVE, { input })).body;
  const mine = async (caller = renter) => (await caller.graphql(`{ myTemplates { ${SAVED} } }`)).body.data.myTemplates;
  const remove = async (name: string, caller = renter) =>
    (await caller.graphql('mutation($name: String!) { deleteTemplate(name: $name) { name } }', { name })).body;

  it('is stored completely, replaces one with the same name, and is private', async () => {
    const launch = {
      name: 'llama',
      env: { MODEL: 'a/b', MODE: HOSTILE },
      secrets: [
        { secret: 'hf', variable: 'HF_TOKEN' },
        { secret: 'key', file: 'key.pem' },
      ],
      command: ['serve', '--title', 'my model'],
      entrypoint: ['/bin/sh'],
      ports: [{ port: 8000, name: 'API' }],
      tcpPorts: [22],
      registryLogin: 'hub',
      user: '1000:0',
      restart: 'NEVER',
      onExit: 'DESTROY',
    };
    const whole = { name: 'mine', description: HOSTILE, template: 'vllm', diskGb: 80, launch };
    expect((await save({ ...whole, description: 'older', diskGb: 1 })).errors).toBeUndefined();
    await save({ name: 'a-first' });
    expect((await save(whole)).data.saveTemplate).toMatchObject({ name: 'mine', diskGb: 80 });
    const [first, second] = await mine();
    expect(first).toMatchObject({ name: 'a-first', template: 'pytorch', diskGb: 50, description: '' });
    expect(first.launch).toMatchObject({ env: {}, command: null, restart: 'ALWAYS' });
    expect(second).toMatchObject({
      ...whole,
      launch: {
        ...launch,
        secrets: [
          { secret: 'hf', variable: 'HF_TOKEN', file: null },
          { secret: 'key', variable: null, file: 'key.pem' },
        ],
      },
    });
    const thief = await service.renter();
    expect(await mine(thief)).toEqual([]);
    expect((await remove('mine', thief)).errors[0].extensions.code).toBe('not_found');
    expect((await remove('no\0name')).errors[0].extensions.code).toBe('not_found');
    expect(await mine()).toHaveLength(2);
    expect((await service.anyone.graphql('{ myTemplates { name } }')).status).toBe(401);
    let stored = '';
    await exportAccount(service.deps, renter.accountId, async (text) => {
      stored += text;
    });
    expect(JSON.parse(stored).saved_template).toHaveLength(2);
  });

  it('can be shared by a link that omits secret names and values', async () => {
    const env = {
      MODEL: 'a/b',
      VLLM_API_KEY: 'typed-in-clear',
      LONG: 'x'.repeat(1_001),
      LINES: 'a\nb',
      TURNED: HOSTILE,
    };
    const launch = {
      env,
      secrets: [
        { secret: 'my-hf', variable: 'HF_TOKEN' },
        { secret: 'my-pem', file: 'key' },
      ],
      registryLogin: 'my-hub',
      user: 'root',
      command: ['serve', 'my model'],
      ports: [
        { port: 8000, name: 'API' },
        { port: 9000, name: 'odd "name"' },
      ],
    };
    const { link } = (await save({ name: 'shared', template: 'vllm', diskGb: 80, launch })).data.saveTemplate;
    const { origin, pathname, searchParams } = new URL(link);
    expect([origin, pathname]).toEqual([service.deps.settings.publicUrl, '/launch']);
    expect([...searchParams]).toEqual([
      ['template', 'vllm'],
      ['vram', '8'],
      ['deploy-disk', '80'],
      ['user', 'root'],
      ['secret', 'VLLM_API_KEY'],
      ['secret', 'HF_TOKEN'],
      ['command', 'serve'],
      ['command', 'my model'],
      ['port', '8000:API'],
      ['port', '9000'],
      ['env.MODEL', 'a/b'],
    ]);
    const image = (await save({ name: 'shared', template: 'ghcr.io/me/train:1' })).data.saveTemplate;
    expect([...new URL(image.link).searchParams]).toEqual([
      ['image', 'ghcr.io/me/train:1'],
      ['deploy-disk', '50'],
    ]);
  });

  it('can be shared by a long link of at most 16 kB', async () => {
    const env = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`A${index}`, '%'.repeat(1_000)]));
    const { link } = (await save({ name: 'large', launch: { env } })).data.saveTemplate;
    const visit = (address: string) => fetch(address, { headers: { accept: 'text/html' } });
    const opened = await visit(service.address + link.slice(new URL(link).origin.length));
    expect([opened.status, link.length > 6_000]).toEqual([200, true]);
    expect(await opened.text()).toContain('<html');
    const refused = await visit(`${service.address}/launch?env.A=${'x'.repeat(17_000)}`);
    expect([refused.status, await refused.text()]).toEqual([431, expect.stringContaining('must be at most 16 kB')]);
  });

  it.each<[string, object, string]>([
    ['a name', { name: 'Not A Name' }, 'name must be a name of 1 to 63'],
    ['a description', { name: 'a', description: 'x'.repeat(201) }, 'description must be a string of 0 to 200'],
    ['an image', { name: 'a', template: 'not an image' }, 'template must be a string of 1 to 255'],
    ['a disk', { name: 'a', diskGb: 0 }, 'diskGb must be a whole number'],
    ['a variable', { name: 'a', launch: { env: { GPU_COUNT: '1' } } }, 'env must not set GPU_COUNT'],
    [
      'a launch',
      { name: 'a', launch: { env: { A: 'x'.repeat(20_000) }, command: ['y'.repeat(20_000)] } },
      'launch is too large to save: the limit is 32000 bytes',
    ],
  ])('is rejected if it has %s out of bounds', async (_what, input, message) => {
    const { errors } = await save(input);
    expect(errors).toMatchObject([{ extensions: { code: 'invalid_request' } }]);
    expect(errors[0].message).toContain(message);
  });

  it('is limited to 100 per account, even with concurrent requests', async () => {
    const other = await service.renter();
    const names = Array.from({ length: 98 }, (_, index) => `saved-${index}`);
    await service.sql(
      `insert into saved_template (account_id, name, description, template, disk_gb, launch, created_at)
       select $1, name, '', 'pytorch', 50, '{}', '2026-11-01' from unnest($2::text[]) as name`,
      [other.accountId, names],
    );
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => save({ name }, other)));
    expect(answers.filter(({ errors }) => errors === undefined)).toHaveLength(2);
    expect(answers.flatMap(({ errors = [] }) => errors.map(({ message }: Error) => message))).toEqual(
      Array(3).fill('the account has 100 saved templates, the maximum; delete one first'),
    );
    expect((await save({ name: 'saved-0', diskGb: 7 }, other)).errors).toBeUndefined();
    expect((await remove('saved-1', other)).data.deleteTemplate).toEqual({ name: 'saved-1' });
    expect((await save({ name: 'late' }, other)).errors).toBeUndefined();
    expect(await mine(other)).toHaveLength(100);
  });
});

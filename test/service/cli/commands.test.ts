import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpu } from '../../support/cli/command.js';
import { cleanUp, type Env, folder } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;
let env: Env;

beforeAll(async () => {
  service = await startService({ secretsKeys: ['5'.repeat(64)] });
  const { key } = await service.renter('100000');
  env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: key };
});
afterAll(async () => {
  await service.close();
  await cleanUp();
});

function bodyOfKeys(key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ query: '{ apiKeys { id } }' });
  return fetch(`${service.address}/graphql`, { method: 'POST', headers, body }).then((response) => response.text());
}

describe('a deadline', () => {
  it('can be set on deploy, shown, changed and removed', async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('100')).key };
    const { stdout } = await gpu(['deploy', await service.machine(), '--stop-at', '8h', '--quiet'], own);
    const id = stdout.trim();
    const stopAt = new Date(service.clock.nowMs() + 28_800_000).toISOString().replace(/\.\d+/, '');
    expect((await gpu(['deadline', id], own)).stdout).toBe(
      `${id} will be stopped at ${stopAt}\n${id} will not be destroyed automatically\n`,
    );
    const changed = await gpu(['deadline', id, '--stop-at', 'none', '--destroy-at', stopAt, '--json'], own);
    expect(JSON.parse(changed.stdout)).toEqual({ id, stopAt: null, destroyAt: stopAt });
    const refused = await gpu(['deadline', id, '--destroy-at', 'soon'], own);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('destroyAt must be a time from now')]);
    expect(await gpu(['deadline', 'i-00000000'], own)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no such instance'),
    });
  });
});

describe('an instance name', () => {
  it('is listed and accepted in place of the id', async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('1000')).key };
    const deploy = async (name: string) => {
      const { stdout } = await gpu(['deploy', await service.machine(), '--name', name, '--quiet'], own);
      return stdout.trim();
    };
    const id = await deploy('train');
    expect((await gpu(['instances'], own)).stdout).toMatch(new RegExp(`^${id} +train +running `, 'm'));
    const shown = (await gpu(['show', id], own)).stdout;
    expect(shown).toMatch(/^Name +train$/m);
    expect((await gpu(['show', 'train'], own)).stdout).toBe(shown);
    for (const args of [
      ['timeline'],
      ['launch'],
      ['deadline'],
      ['idle'],
      ['label'],
      ['limit'],
      ['logs'],
      ['metrics'],
      ['stop'],
    ]) {
      const [byName, byId] = [await gpu([...args, 'train'], own), await gpu([...args, id], own)];
      expect(byName.stderr, args[0]).not.toContain('no such instance');
      if (args[0] !== 'stop') expect(byName, args[0]).toEqual(byId);
      else expect(byName).toMatchObject({ code: 0 });
    }
    const unknown = await gpu(['destroy', 'other', '--yes'], own);
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no active instance has the name or id other'),
    });
    // A name that looks like an id never refers to its instance.
    const shadow = await deploy(id.replace(/.$/, (last) => (last === '0' ? '1' : '0')));
    expect((await gpu(['show', id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))], own)).code).toBe(1);
    const twin = await deploy('train');
    const ambiguous = await gpu(['destroy', 'train', '--yes'], own);
    expect(ambiguous.code).toBe(2);
    expect(ambiguous.stderr).toContain('2 instances are named train');
    for (const each of [id, twin]) expect(ambiguous.stderr).toContain(each);
    for (const each of [id, twin, shadow]) await gpu(['destroy', each, '--yes'], own);
    expect(await gpu(['cp', './a', 'train:/workspace'], own)).toMatchObject({ code: 1 });
  });
});

describe('a volume', () => {
  it('can be created, listed, grown, shown with its password, and deleted', async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('100')).key };
    expect((await gpu(['volume', 'list'], own)).stdout).toBe('');
    const made = await gpu(['volume', 'create', 'work', '--size-gb', '100', '--quiet', '--idempotency-key', 'k'], own);
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^v-[0-9a-f]{8}\n$/)]);
    const again = await gpu(['volume', 'create', 'work', '--size-gb', '100', '--quiet', '--idempotency-key', 'k'], own);
    expect(again.stdout).toBe(made.stdout);
    const id = made.stdout.trim();
    expect((await gpu(['volume', 'list'], own)).stdout).toMatch(
      new RegExp(`^${id} +work +100 +0.01 +- +- +0 MB +`, 'm'),
    );
    const grown = await gpu(['volume', 'grow', id, '--size-gb', '250', '--json'], own);
    expect(JSON.parse(grown.stdout)).toMatchObject({ object: 'volume', id, size_gb: 250, price_hr: 0.025 });
    const smaller = await gpu(['volume', 'grow', id, '--size-gb', '200'], own);
    expect([smaller.code, smaller.stderr]).toEqual([1, expect.stringContaining("can't shrink")]);
    expect((await gpu(['volume', 'show', id], own)).stdout).toContain('250 GB');
    expect((await gpu(['volume', 'snapshots', id, '--json'], own)).stdout).toContain('"snapshots":[]');
    expect((await gpu(['volume', 'password', id], own)).stdout).toMatch(/^[0-9a-f]{64}\n$/);
    expect((await gpu(['volume', 'delete', id], own)).code).toBe(2);
    expect((await gpu(['volume', 'delete', id, '--yes'], own)).stdout).toBe(`${id} has been deleted\n`);
    expect((await gpu(['volume', 'show', id], own)).stdout).toMatch(/Deleted/);
    expect((await gpu(['volume', 'password', id], own)).stderr).toContain('no such volume');
  });
});

describe('gpu label', () => {
  it('shows, sets and removes labels, which `gpu instances` filters by', async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('100')).key };
    const deploy = ['deploy', await service.machine(), '--label', 'team=vision', '--label', 'run=7', '--quiet'];
    const id = (await gpu(deploy, own)).stdout.trim();
    await gpu(['deploy', await service.machine()], own);
    expect((await gpu(['label', id], own)).stdout).toBe('run=7\nteam=vision\n');
    expect((await gpu(['label', id, 'run-', 'note=a=b'], own)).stdout).toBe('note=a=b\nteam=vision\n');
    expect((await gpu(['instances', '--label', 'team=vision,note', '--quiet'], own)).stdout).toBe(`${id}\n`);
    expect((await gpu(['instances', '--label', 'run', '--quiet'], own)).stdout).toBe('');
    for (const wrong of ['team', '=x']) {
      const refused = await gpu(['label', id, wrong], own);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('change must be key=value or key-')]);
    }
    expect((await gpu(['instances', '--label', 'a,'], own)).stderr).toContain('labels must be');
  });
});

describe('gpu idle', () => {
  it("shows and removes the setting, but can't set it if the agent can't measure load", async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('100')).key };
    const machine = await service.machine();
    const refused = await gpu(['deploy', machine, '--stop-when-idle', '1h30m'], own);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^gpu: stop_?[wW]hen_?[iI]dle is not available/),
    ]);
    expect((await gpu(['deploy', machine, '--stop-when-idle', 'soon'], own)).code).toBe(2);
    const { stdout } = await gpu(['deploy', machine, '--quiet'], own);
    const id = stdout.trim();
    expect((await gpu(['idle', id], own)).stdout).toBe(`${id} does not stop when idle\n`);
    expect((await gpu(['idle', id, '30m'], own)).code).toBe(1);
    expect((await gpu(['idle', id, 'often'], own)).code).toBe(2);
    const cleared = await gpu(['idle', id, 'none', '--json'], own);
    expect(JSON.parse(cleared.stdout)).toEqual({ id, stopWhenIdle: null });
  });
});

describe('a saved template', () => {
  it('can be created from options or an instance, deployed, shared and deleted', async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('100')).key };
    const launch = [
      '--template',
      'vllm',
      '--disk-gb',
      '60',
      '-e',
      'MODEL=a/b',
      '--secret',
      'hf=HF_TOKEN',
      '--port',
      '8000:API',
    ];
    expect(await gpu(['template', 'save', 'mine', ...launch, '--', 'serve', 'x y'], own)).toMatchObject({ code: 0 });
    const bad = await gpu(['template', 'save', 'Not_a_name'], own);
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('name must be a name')]);
    const listed = (await gpu(['template', 'list'], own)).stdout.split('\n');
    expect(listed[1]).toMatch(/^mine +Yours +- +vllm$/);
    expect(listed.find((line) => line.startsWith('jupyter'))).toMatch(
      /^jupyter +Notebooks and editors +8 GB +JupyterLab/,
    );
    const { GPU_API_KEY: _, ...anonymous } = env;
    expect((await gpu(['template', 'list'], anonymous)).stdout).toMatch(/^TEMPLATE .*\npytorch /);
    expect((await gpu(['template', 'link', 'mine'], own)).stdout).toBe(
      `${service.deps.settings.publicUrl}/launch?template=vllm&vram=8&deploy-disk=60&secret=HF_TOKEN&command=serve&command=x+y&port=8000%3AAPI&env.MODEL=a%2Fb\n`,
    );
    const machine = await service.machine();
    const lacking = await gpu(['deploy', machine, '--saved', 'mine'], own);
    expect([lacking.code, lacking.stderr]).toEqual([1, expect.stringContaining('there is no secret hf')]);
    await gpu(
      [
        'template',
        'save',
        'mine',
        '--template',
        'vllm',
        '--disk-gb',
        '60',
        '-e',
        'MODEL=a/b',
        '--restart',
        'never',
        '--on-exit',
        'stop',
      ],
      own,
    );
    const id = (await gpu(['deploy', machine, '--saved', 'mine', '--name', 'other', '--quiet'], own)).stdout.trim();
    expect((await gpu(['template', 'save', 'again', '--from', id, '--description', 'As it ran'], own)).code).toBe(0);
    const { myTemplates } = JSON.parse((await gpu(['template', 'list', '--json'], own)).stdout);
    expect(myTemplates[0]).toMatchObject({
      name: 'again',
      description: 'As it ran',
      template: 'vllm',
      diskGb: 60,
      launch: { name: 'other', env: { MODEL: 'a/b' }, restart: 'NEVER', onExit: 'STOP' },
    });
    expect((await gpu(['template', 'delete', 'mine'], own)).code).toBe(0);
    for (const command of ['delete', 'link'])
      expect(await gpu(['template', command, 'mine'], own)).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('a spend limit', () => {
  it('can be set on deploy, shown and removed, and set for keys and the account', async () => {
    const own = { ...env, GPU_API_KEY: (await service.renter('100')).key };
    const { stdout } = await gpu(['deploy', await service.machine(), '--spend-limit', '2.5', '--quiet'], own);
    const id = stdout.trim();
    expect((await gpu(['limit', id], own)).stdout).toMatch(
      new RegExp(`^${id} may spend 2\\.50 USD in total; reached at 20`),
    );
    expect((await gpu(['limit', id, 'none'], own)).stdout).toBe(`${id} has no spend limit\n`);
    expect(JSON.parse((await gpu(['limit', 'account', '50', '--json'], own)).stdout)).toMatchObject({ limit: 50 });
    const [key] = JSON.parse(await bodyOfKeys(own.GPU_API_KEY)).data.apiKeys;
    expect((await gpu(['limit', key.id, '7'], own)).stdout).toMatch(/ may spend 7\.00 USD per month/);
    // Now the key can't set limits itself.
    expect(await gpu(['limit', 'account', 'none'], own)).toMatchObject({ code: 1 });
    expect((await gpu(['limit', 'i-00000000'], own)).stderr).toContain('no such instance');
    expect((await gpu(['limit', id, 'much'], own)).code).toBe(2);
  });
});

describe('a service credit', () => {
  it("appears in balance and show, but only in its own month's statement", async () => {
    const own = await service.renter('100');
    const { id } = (await own.rest('POST', '/instances', { machine_id: await service.machine() })).body;
    service.clock.advance(3_600);
    const month = new Date(service.clock.nowMs()).toISOString().slice(0, 7);
    const as = { ...env, GPU_API_KEY: own.key };
    expect((await gpu(['balance'], as)).stdout).not.toContain('Service credit');
    await service.sql(
      `insert into ledger_entry (id, account_id, kind, units, at, instance_id, note)
       values ($1, $2, 'SERVICE_CREDIT', 900000000, $3, $4, 'an outage')`,
      [`${id}/service/1`, own.accountId, new Date(service.clock.nowMs()).toISOString(), id],
    );
    service.clock.advance(1);
    expect((await gpu(['balance'], as)).stdout).toMatch(/^Service credit this month +0\.25 USD$/m);
    expect((await gpu(['show', id], as)).stdout).toMatch(/^Service credit +0\.25 USD for undelivered service$/m);
    const { stdout } = await gpu(['statement', '--month', month], as);
    expect(stdout).toMatch(/service credit +0\.25 +i-/);
    expect(stdout).toMatch(new RegExp(`^${id} +gpu +`, 'm'));
    const asJson = JSON.parse((await gpu(['statement', '--month', month, '--json'], as)).stdout);
    expect(asJson.movements.map(({ kind }: { kind: string }) => kind)).toContain('SERVICE_CREDIT');
    const before = JSON.parse((await gpu(['statement', '--month', '2020-02', '--json'], as)).stdout);
    expect([before.from, before.to, before.lines]).toEqual(['2020-02-01T00:00:00Z', '2020-03-01T00:00:00Z', []]);
    expect((await gpu(['statement', '--month', '2026-13'], as)).code).toBe(2);
  });
});

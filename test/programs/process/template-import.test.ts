import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { createTestDatabase } from '../../support/database.js';
import { client, type Renter } from '../../support/gateway.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, type Env, folder, type GatewayProcess, query, startProcess } from '../../support/process.js';
import { WireAgent } from '../../support/wire-agent.js';

const HEADER = 'slug,image,description,ports,env,command';
const SERVE = `serve,registry.test/serve:1,Serves a folder,8080 22,"{""MODE"":""fast"",""EMPTY"":""""}","[""serve"",""--all it has""]"`;

describe('admin template import', () => {
  let env: Env;
  let gateway: GatewayProcess;
  let agent: WireAgent;
  let renter: Renter;
  const home = folder();

  const templates = () => query(env.DATABASE_URL!, 'select * from template order by position, slug');
  function file(text: string, name = 'templates.csv'): string {
    writeFileSync(join(home, name), text);
    return join(home, name);
  }
  const load = (path: string, ...more: string[]) => admin(['template', 'import', path, ...more], env);

  /** Rents with this template. Returns the document that the machine receives for it. */
  async function deployed(template: string) {
    // The machine is offered once its first heartbeat is written, within a second.
    const rented = await vi.waitFor(
      async () => {
        const answer = await renter.rest('POST', '/instances', { machine_id: agent.machineId, template });
        expect(answer.status).toBe(201);
        return answer;
      },
      { timeout: 60_000, interval: 100 },
    );
    const { instances } = await agent.desired();
    const desired = instances.find(({ id }) => id === rented.body.id)!;
    return { desired, id: rented.body.id as string };
  }

  async function gone(id: string): Promise<void> {
    await renter.rest('DELETE', `/instances/${id}`);
    await agent.desired();
    const erased = { id, phase: 'ERASED' as const, start: 1, message: null, exitCode: null, restarts: 0 };
    await agent.report([{ ...erased, pulledBytes: null, totalBytes: null }]);
  }

  beforeAll(async () => {
    env = { DATABASE_URL: await createTestDatabase(), RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };
    gateway = await startProcess(env);
    const account = await adminJson(['account', 'create', '--name', 'Renter', '--credit', '100'], env);
    const { api_key } = await adminJson(['key', 'create', '--account', account.id], env);
    renter = client(gateway.address, api_key, account.id);
    const { code } = await adminJson(['machine', 'enroll', '--region', 'us-tx', '--online'], env);
    agent = await WireAgent.join(gateway.address, code);
    await agent.report();
  });
  afterAll(async () => {
    await gateway?.end();
    await cleanUp();
  });

  it('creates a template that a deploy passes to the machine in full', async () => {
    const before = await templates();
    const path = file(`${HEADER}\n${SERVE}\n`);
    expect((await load(path, '--dry-run')).code).toBe(0);
    expect(await templates()).toEqual(before);
    expect(await load(path, '--json')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/"created":1,"updated":0/),
    });
    expect(await templates()).toHaveLength(before.length + 1);
    const { desired, id } = await deployed('serve');
    expect(desired).toMatchObject({
      phase: 'running',
      image: 'registry.test/serve:1',
      fromTemplate: true,
      command: ['serve', '--all it has'],
      ports: [8080, 22],
      env: { MODE: 'fast', EMPTY: '', GPU_INSTANCE_ID: id, GPU_COUNT: '1' },
    });
    expect(Object.keys(desired.env)).toHaveLength(4);
    await gone(id);
  });

  it('vouches only for its own image and marks any other as the renter’s', async () => {
    const { desired, id } = await deployed('registry.test/serve:2');
    expect(desired).toMatchObject({ image: 'registry.test/serve:2' });
    expect(desired).not.toHaveProperty('fromTemplate');
    await gone(id);
  });

  it('updates templates by slug, but only for later deploys', async () => {
    const { id: old } = await deployed('serve');
    const before = await templates();
    const row = {
      slug: 'serve',
      image: 'registry.test/serve:2',
      description: 'Serves two',
      ports: [9000],
      env: { MODE: 'slow' },
    };
    const more = { ...row, slug: 'other', image: 'registry.test/other:1', command: ['run'] };
    const { stdout, code } = await load(file(JSON.stringify([row, more]), 'templates.json'), '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { created: 1, updated: 1 }]);
    const after = await templates();
    expect(after.filter(({ slug }) => slug !== 'serve' && slug !== 'other')).toEqual(
      before.filter(({ slug }) => slug !== 'serve'),
    );
    // The stop yields a new document, which shows that the instance keeps what it was deployed with.
    await renter.rest('POST', `/instances/${old}/actions`, { action: 'stop' });
    const [kept] = (await agent.desired()).instances;
    expect(kept).toMatchObject({ id: old, image: 'registry.test/serve:1', ports: [8080, 22] });
    await gone(old);
    const { desired, id } = await deployed('serve');
    expect(desired).toMatchObject({ image: 'registry.test/serve:2', command: null, ports: [9000] });
    expect(desired.env).toEqual({ MODE: 'slow', GPU_INSTANCE_ID: id, GPU_COUNT: '1' });
    await gone(id);
  });

  it('accepts a form’s titles, named ports and variables, whose defaults become env', async () => {
    const header = 'slug,image,description,title,category,picture,vram_gb,ports,path,variables';
    const variables = [
      { name: 'MODEL', description: '<b>Which</b> \u202emodel', default: 'a/b', required: true },
      { name: 'TOKEN', description: 'Lets in', made: true },
    ];
    const cell = (value: unknown) => `"${JSON.stringify(value).replaceAll('"', '""')}"`;
    const row = `form,registry.test/form:1,A form,Form,Notebooks,notebook,24,${cell(['8888:Jupyter Lab', 22])},/lab?token=$(TOKEN),${cell(variables)}`;
    expect((await load(file(`${header}\n${row}\n`))).stderr).toBe('');
    const stored = (await templates()).find(({ slug }) => slug === 'form');
    expect(stored).toMatchObject({
      title: 'Form',
      category: 'Notebooks',
      picture: 'notebook',
      vram_gb: 24,
      ports: [8888, 22],
      port_names: { 8888: 'Jupyter Lab' },
      path: '/lab?token=$(TOKEN)',
      env: { MODEL: 'a/b' },
      variables: [
        { name: 'MODEL', description: '<b>Which</b> \u202emodel', required: true },
        { name: 'TOKEN', description: 'Lets in', made: true, secret: true },
      ],
    });
    const list = [{ port: 8888, name: 'Jupyter Lab' }, 22];
    const { ports: _, env: __, slug, image, description, title, category, picture, vram_gb, path } = stored as never;
    const json = { slug, image, description, title, category, picture, vram_gb, path, ports: list, variables };
    expect((await load(file(JSON.stringify([json]), 'form.json'))).code).toBe(0);
    expect((await templates()).find((each) => each.slug === 'form')).toEqual(stored);
  });

  it('accepts the catalogue’s own file, which adds forms to old installations', async () => {
    const before = await templates();
    await query(env.DATABASE_URL!, `update template set title = '', variables = '[]' where slug = 'vllm'`);
    const { stdout } = await load(join(PACKAGE_ROOT, 'prisma/seed/templates.csv'), '--json');
    expect(JSON.parse(stdout)).toMatchObject({ created: 0, updated: 14 });
    expect(await templates()).toEqual(before);
  });

  it('reports all of a form’s faults at once', async () => {
    const good = { slug: 'a', image: 'registry.test/a:1', description: 'One' };
    const faulty: [string, object][] = [
      ['image', { image: 'registry.test/a' }],
      ['image', { image: 'registry.test/a:latest' }],
      ['title', { title: 'x'.repeat(61) }],
      ['category', { category: 'two\nlines' }],
      ['picture', { picture: 'logo' }],
      ['vram_gb', { vram_gb: 0.5 }],
      ['ports', { ports: Array.from({ length: 21 }, (_, index) => index + 1) }],
      ['ports', { ports: '8888:' }],
      ['path', { path: '//elsewhere' }],
      ['path', { path: '/lab?token=$(TOKEN)' }],
      [
        'variables',
        {
          variables: [
            { name: 'A', description: 'One' },
            { name: 'A', description: 'Two' },
          ],
        },
      ],
      ['variables', { variables: [{ name: 'A', description: 'One', made: true, default: 'x' }] }],
      ['variables', { variables: [{ name: 'GPU_COUNT', description: 'One' }] }],
      ['variables', { env: { A: 'x' }, variables: [{ name: 'A', description: 'One', secret: true }] }],
      ['variables', { variables: [{ name: 'A', description: 'One', secert: true }] }],
    ];
    const { code, stderr } = await load(
      file(JSON.stringify(faulty.map(([, fault]) => ({ ...good, ...fault }))), 'bad.json'),
    );
    expect(code).toBe(2);
    const told = stderr.trimEnd().split('\n').slice(1);
    expect(told.map((line) => /^line (\d+): (\w+)/.exec(line)?.slice(1))).toEqual(
      faulty.map(([field], index) => [String(index + 1), field]),
    );
  });

  it('imports all rows or none and reports each faulty row by line', async () => {
    const before = await templates();
    const rows = [
      'good,registry.test/good:1,A good one,,,',
      'Bad Slug,registry.test/a:1,One,,,',
      'image,not an image,One,,,',
      'missing,registry.test/a:1,,,,',
      'port,registry.test/a:1,One,8080 70000,,',
      'env,registry.test/a:1,One,,MODE=fast,',
      'name,registry.test/a:1,One,,"{""1X"":""y""}",',
      'word,registry.test/a:1,One,,,serve --all',
      'none,registry.test/a:1,One,,,[]',
    ];
    const { code, stdout, stderr } = await load(file(`${HEADER}\n${rows.join('\n')}\n`));
    expect([code, stdout]).toEqual([2, '']);
    const [first, ...faults] = stderr.trimEnd().split('\n');
    expect(first).toMatch(/nothing was changed/);
    expect(faults.map((line) => /^line (\d+): (\w+)/.exec(line)?.slice(1))).toEqual([
      ['3', 'slug'],
      ['4', 'image'],
      ['5', 'description'],
      ['6', 'ports'],
      ['7', 'env'],
      ['8', 'env'],
      ['9', 'command'],
      ['10', 'command'],
    ]);
    expect(await templates()).toEqual(before);
  });
});

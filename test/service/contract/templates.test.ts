import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealingKeysOf } from '../../../src/compose/sealing-keys.js';
import { exportAccount } from '../../../src/domain/accounts/export-account.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { resealSecrets } from '../../../src/domain/secrets/reseal.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const KEY = 'cd'.repeat(32);
const NEXT = 'ef'.repeat(32);
const VARIABLES = [
  { name: 'MODEL', description: 'Model to serve', required: true },
  { name: 'TOKEN', description: 'Access token', made: true, secret: true },
  { name: 'PASSWORD', description: 'Access password', made: true, secret: true },
];
const DEPLOY = 'mutation($input: DeployInput!) { deploy(input: $input) { id } }';
const BEST = 'mutation($input: DeployBestInput!) { deployBest(input: $input) { id } }';
const LINKS =
  'query($id: ID!) { instanceLinks(id: $id) { links { name port path url open } tokens { variable value inLink } } }';
const MISSING = 'env must have a value for MODEL, which the template serve needs';

let service: Service;
let renter: Renter;
let agent: WireAgent;

beforeAll(async () => {
  service = await startService({ secretsKeys: [KEY] });
  renter = await service.renter('1000');
  await service.sql(
    `insert into template (slug, title, category, image, description, picture, vram_gb, position, ports, port_names, path,
       env, command, variables)
     values ('serve', 'Serve', 'Servers', 'registry.test/serve:1', 'Serves', 'server', 8, 99, '{8888,9000}',
       '{"8888":"Page"}', '/lab?token=$(TOKEN)', '{"MODE":"fast"}', '["--model","$(MODEL)","$(TOKEN)","$(GPU_COUNT)"]', $1)`,
    [JSON.stringify(VARIABLES)],
  );
  agent = await machineWith(service);
});
afterAll(() => service.close());

async function machineWith({ deps, address }: Service, launches = true): Promise<WireAgent> {
  const enrolment = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
  const joined = await WireAgent.join(address, (await enrol(deps, enrolment)).code);
  joined.launches = launches;
  await joined.report();
  await deps.fleet.heartbeats.flush();
  await deps.db.notices.caughtUp();
  return joined;
}

async function deployed(env: Record<string, string> = { MODEL: 'a/b' }, more: object = {}): Promise<string> {
  const launch = { env, ...more };
  const { body } = await renter.graphql(DEPLOY, { input: { machineId: agent.machineId, template: 'serve', launch } });
  expect(body.errors).toBeUndefined();
  return body.data.deploy.id;
}

async function destroyAndErase(id: string): Promise<void> {
  await renter.rest('DELETE', `/instances/${id}`);
  await agent.desired();
  const erased = { id, phase: 'ERASED' as const, start: 1, message: null, exitCode: null, restarts: 0 };
  await agent.report([{ ...erased, pulledBytes: null, totalBytes: null }]);
}

const linksOf = async (id: string, caller = renter) => (await caller.graphql(LINKS, { id })).body;
const secretsOf = async (id: string, asking = agent) => {
  const answer = await fetch(`${service.address}/agent/v1/secrets?instance=${id}&start=1`, {
    headers: asking.headers(),
  });
  return { status: answer.status, body: await answer.json() };
};

describe('a gallery template', () => {
  it('shows its form fields without a key', async () => {
    const { body } = await service.anyone.graphql(
      `{ templates { slug title category picture vramGb path ports { port name }
         variables { name description default required secret isGenerated made } } }`,
    );
    const { templates } = body.data;
    expect(templates.find(({ slug }: { slug: string }) => slug === 'serve')).toEqual({
      slug: 'serve',
      title: 'Serve',
      category: 'Servers',
      picture: 'server',
      vramGb: 8,
      path: '/lab?token=$(TOKEN)',
      ports: [
        { port: 8888, name: 'Page' },
        { port: 9000, name: null },
      ],
      variables: [
        { ...VARIABLES[0], default: null, secret: false, isGenerated: false, made: false },
        { ...VARIABLES[1], isGenerated: true, default: null, required: false },
        { ...VARIABLES[2], isGenerated: true, default: null, required: false },
      ],
    });
    const vllm = templates.find(({ slug }: { slug: string }) => slug === 'vllm');
    expect(vllm.variables[0]).toMatchObject({ name: 'MODEL', default: 'Qwen/Qwen2.5-1.5B-Instruct', required: true });
  });

  it('can be deployed with only its slug, as the contract specifies', async () => {
    const { body } = await service.anyone.graphql('{ templates { slug } }');
    const machineId = await service.machine();
    for (const { slug } of body.data.templates) {
      if (slug === 'serve') continue;
      const answer = await renter.rest('POST', '/instances', { machine_id: machineId, template: slug });
      expect([slug, answer.status]).toEqual([slug, 201]);
      expect(Object.keys(answer.body)).toHaveLength(13);
      await renter.rest('DELETE', `/instances/${answer.body.id}`);
    }
  });

  it('is refused everywhere, including quotes, if a required value is missing', async () => {
    const { machineId } = agent;
    const balance = async () => (await renter.rest('GET', '/balance')).body;
    const before = await balance();
    const rest = await renter.rest('POST', '/instances', { machine_id: machineId, template: 'serve' });
    expect([rest.status, rest.body.error.code, rest.body.error.message]).toEqual([422, 'invalid_request', MISSING]);
    for (const [query, input] of [
      [DEPLOY, { machineId, template: 'serve', launch: { env: { MODEL: '' } } }],
      [BEST, { template: 'serve' }],
    ] as const) {
      const { body } = await renter.graphql(query, { input });
      expect(body.errors).toMatchObject([{ message: MISSING, extensions: { code: 'invalid_request', field: 'env' } }]);
    }
    for (const caller of [renter, service.anyone]) {
      const { body } = await caller.graphql(
        'query($input: QuoteInput!) { quote(input: $input) { canDeploy totalPriceHr refusal { code message } } }',
        { input: { machineId, template: 'serve' } },
      );
      expect(body.data.quote).toMatchObject({
        canDeploy: false,
        refusal: { code: 'invalid_request', message: MISSING },
      });
      expect(body.data.quote.totalPriceHr).toBeGreaterThan(0);
    }
    expect(await balance()).toEqual(before);
    expect((await renter.rest('GET', '/instances')).body.data).toEqual([]);
  });

  it('needs no values when an already executed request is repeated', async () => {
    const headers = { 'idempotency-key': 'before' };
    const body = { machine_id: await service.machine(), template: 'ollama' };
    const first = await renter.rest('POST', '/instances', body, headers);
    const required = [{ name: 'NEW', description: 'New', required: true }];
    const kept = await service.sql(`select variables from template where slug = 'ollama'`);
    await service.sql(`update template set variables = $1 where slug = 'ollama'`, [JSON.stringify(required)]);
    const again = await renter.rest('POST', '/instances', body, headers);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await renter.rest('POST', '/instances', body)).status).toBe(422);
    await service.sql(`update template set variables = $1 where slug = 'ollama'`, [JSON.stringify(kept[0]!.variables)]);
    await renter.rest('DELETE', `/instances/${first.body.id}`);
  });
});

describe('a generated token', () => {
  it('is passed to the container as a secret and to the renter in a link', async () => {
    const id = await deployed({ MODEL: 'a/b $(MODE)' });
    const desired = (await agent.desired()).instances.find((each) => each.id === id)!;
    expect(desired).toMatchObject({
      secrets: true,
      command: ['--model', 'a/b $(MODE)', '$(TOKEN)', '1'],
      env: { MODE: 'fast', MODEL: 'a/b $(MODE)' },
    });
    expect(Object.keys(desired.env)).not.toContain('TOKEN');
    const { data, errors } = await linksOf(id);
    expect(errors).toBeUndefined();
    const [password, token] = data.instanceLinks.tokens;
    expect(data.instanceLinks).toEqual({
      links: [
        {
          name: 'Page',
          port: 8888,
          path: `/lab?token=${token.value}`,
          url: `http://${id}.gpu.localhost:${new URL(service.address).port}/lab?token=${token.value}`,
          open: false,
        },
      ],
      tokens: [
        { variable: 'PASSWORD', value: expect.stringMatching(/^[0-9a-f]{32}$/), inLink: false },
        { variable: 'TOKEN', value: expect.stringMatching(/^[0-9a-f]{32}$/), inLink: true },
      ],
    });
    expect(password.value).not.toBe(token.value);
    expect(await secretsOf(id)).toEqual({
      status: 200,
      body: { variables: { TOKEN: token.value, PASSWORD: password.value }, files: {}, registryLogin: null },
    });
    await destroyAndErase(id);
  });

  it('is unique to its instance and deleted with it', async () => {
    const first = await deployed();
    const { tokens } = (await linksOf(first)).data.instanceLinks;
    await destroyAndErase(first);
    expect(await service.sql('select from made_token where instance_id = $1', [first])).toEqual([]);
    expect((await linksOf(first)).errors[0].extensions.code).toBe('action_failed');
    expect((await secretsOf(first)).status).toBe(404);
    const second = await deployed();
    const others = (await linksOf(second)).data.instanceLinks.tokens;
    expect(others.map(({ value }: { value: string }) => value)).not.toContain(tokens[0].value);
    await destroyAndErase(second);
  });

  it("is shown only to its account's keys and sent only to its instance's machine", async () => {
    const id = await deployed();
    const thief = await service.renter();
    const unknown = (await linksOf('i-00000000', thief)).errors;
    expect(unknown[0].extensions.code).toBe('not_found');
    expect((await linksOf(id, thief)).errors).toEqual(unknown);
    expect((await linksOf(id, service.anyone)).errors[0].extensions.code).toBe('unauthorized');
    expect((await secretsOf(id, await machineWith(service))).status).toBe(404);
    await destroyAndErase(id);
  });

  it('appears in no table, export or other response', async () => {
    const id = await deployed();
    const values = (await linksOf(id)).data.instanceLinks.tokens.map(({ value }: { value: string }) => value);
    let written = JSON.stringify(await agent.desired());
    const tables = await service.sql(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    for (const { name } of tables) written += JSON.stringify(await service.sql(`select t::text from "${name}" t`));
    await exportAccount(service.deps, renter.accountId, async (text) => {
      written += text;
    });
    const { body } = await renter.graphql(
      `{ instance(id: "${id}") { launch { env } ports { url name } webUrl runtime { message } }
         instances { id name launch { env secrets { secret } } } node(id: "${id}") { id } }`,
    );
    expect(body.errors).toBeUndefined();
    written += JSON.stringify(body) + JSON.stringify((await renter.rest('GET', `/instances/${id}`)).body);
    expect(written).toContain('"made_token"');
    for (const value of values)
      for (const form of [value, Buffer.from(value).toString('hex'), Buffer.from(value).toString('base64')])
        expect(written.includes(form)).toBe(false);
    await destroyAndErase(id);
  });

  it("is replaced by the renter's value, even if that is empty or a secret", async () => {
    const create = 'mutation { createSecret(input: { name: "own", value: "of-the-renter" }) { name } }';
    expect((await renter.graphql(create)).body.errors).toBeUndefined();
    const secrets = [{ secret: 'own', variable: 'TOKEN' }];
    const id = await deployed({ MODEL: 'a', PASSWORD: '' }, { secrets, ports: [{ port: 9000, name: 'Other' }] });
    const { links, tokens } = (await linksOf(id)).data.instanceLinks;
    expect(tokens).toEqual([]);
    expect(links.map(({ name, path }: { name: string; path: string }) => [name, path])).toEqual([
      ['Page', '/lab'],
      ['Other', '/'],
    ]);
    expect((await secretsOf(id)).body.variables).toEqual({ TOKEN: 'of-the-renter' });
    await destroyAndErase(id);
  });

  it('is shown separately if its link would be too long', async () => {
    const WEB_LINK = 'mutation($id: ID!, $path: String) { webLink(id: $id, path: $path) { url } }';
    const [old] = await service.sql(`select path from template where slug = 'serve'`);
    const path = (text: string) => service.sql(`update template set path = $1 where slug = 'serve'`, [text]);
    const openLink = async (env: Record<string, string>) => {
      const id = await deployed({ MODEL: 'a', ...env });
      const { links, tokens } = (await linksOf(id)).data.instanceLinks;
      const { body } = await renter.graphql(WEB_LINK, { id, path: links[0].path });
      expect(body.errors).toBeUndefined();
      await destroyAndErase(id);
      return { at: links[0].path, inLink: tokens.map(({ inLink }: { inLink: boolean }) => inLink) };
    };
    expect(await openLink({ TOKEN: '%'.repeat(600) })).toEqual({
      at: `/lab?token=${'%25'.repeat(600)}`,
      inLink: [false],
    });
    expect(await openLink({ TOKEN: '%'.repeat(700) })).toEqual({ at: '/lab', inLink: [false] });
    await path('/lab?token=$(TOKEN)&model=$(NONE)');
    expect(await openLink({})).toEqual({ at: '/lab', inLink: [false, false] });
    await path('/$(PASSWORD)?token=$(TOKEN)');
    expect(await openLink({ PASSWORD: '/evil.example' })).toEqual({
      at: expect.stringMatching(/^\/%2Fevil\.example\?token=[0-9a-f]{32}$/),
      inLink: [true],
    });
    await path(old!.path as string);
  });

  it('stays the same for a repeated request and is resealed on key rotation', async () => {
    const input = { machineId: agent.machineId, template: 'serve', launch: { env: { MODEL: 'a' } } };
    const rent = async () =>
      (await renter.graphql(DEPLOY, { input: { ...input, idempotencyKey: 'again' } })).body.data.deploy.id;
    const id = await rent();
    const before = await linksOf(id);
    expect(await rent()).toBe(id);
    expect(await linksOf(id)).toEqual(before);
    const keysOf = (secretsKeys: string[]) => sealingKeysOf({ secretsKeys, databaseUrl: '', dataDir: '' });
    const count = (await service.sql('select count(*)::int as count from secret'))[0]!.count as number;
    // Including the two tokens, and the signing key once the log has its first root.
    const all = [count + 2, count + 3];
    expect(await resealSecrets({ ...service.deps, sealingKeys: keysOf([NEXT, KEY]) })).toBeOneOf(all);
    // This gateway has only the old key.
    expect((await linksOf(id)).errors[0].message).toMatch(/SECRETS_KEY lacks a key/);
    expect((await secretsOf(id)).status).toBe(409);
    expect(await resealSecrets({ ...service.deps, sealingKeys: keysOf([KEY, NEXT]) })).toBeOneOf(all);
    expect(await linksOf(id)).toEqual(before);
    await destroyAndErase(id);
  });

  it('is omitted on a machine whose agent is too old to support it', async () => {
    const old = await machineWith(service, false);
    const launch = { env: { MODEL: 'a' } };
    const { body } = await renter.graphql(DEPLOY, { input: { machineId: old.machineId, template: 'serve', launch } });
    const { id } = body.data.deploy;
    const [desired] = (await old.desired()).instances;
    expect(desired).toMatchObject({ id, phase: 'running' });
    expect(desired).not.toHaveProperty('secrets');
    const { links, tokens } = (await linksOf(id)).data.instanceLinks;
    expect([links[0].path, tokens]).toEqual(['/lab', []]);
    await renter.rest('DELETE', `/instances/${id}`);
  });

  it('is omitted if the service stores no secrets', async () => {
    const { deps } = service;
    const none = { ...deps, sealingKeys: sealingKeysOf({ secretsKeys: null, databaseUrl: 'x', dataDir: '' }) };
    const { deploy } = await import('../../../src/domain/instances/instances.js');
    const launch = { env: { MODEL: 'a' } };
    const { instance } = await deploy(none, renter.accountId, {
      machineId: agent.machineId,
      template: 'serve',
      launch,
    });
    expect((await linksOf(instance.id)).data.instanceLinks.tokens).toEqual([]);
    await destroyAndErase(instance.id);
  });
});

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealingKeysOf } from '../../../src/compose/sealing-keys.js';
import { openDatabase } from '../../../src/database/database.js';
import { exportAccount } from '../../../src/domain/accounts/export-account.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { secretsForAgent } from '../../../src/domain/fleet/start-secrets.js';
import { type SealingKeys, sealingKey } from '../../../src/domain/kernel/sealing.js';
import { rotateSigningKey } from '../../../src/domain/proof/signing-keys.js';
import { resealSecrets } from '../../../src/domain/secrets/reseal.js';
import { secretsOfStart } from '../../../src/domain/secrets/secrets.js';
import { hardware, seen } from '../../support/agent.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const KEY = randomBytes(32).toString('hex');
const LAUNCH =
  'name env secrets { secret variable file } entrypoint command ports { port name } registryLogin user restart onExit';
const DEPLOY = `mutation($input: DeployInput!) { deploy(input: $input) { id name launch { ${LAUNCH} } } }`;
const CREATE = 'mutation($input: SecretInput!) { createSecret(input: $input) { name kind registry username } }';

/** Contains every member, with values that are easily corrupted. */
const complete = {
  name: 'train-1',
  env: { MODEL: 'a b', QUOTE: `"'$(x)`, LINES: 'one\ntwo', EQUALS: 'a=b=c', EMPTY: '' },
  secrets: [
    { secret: 'hf', variable: 'HF_TOKEN' },
    { secret: 'hf', file: 'hf-token' },
  ],
  entrypoint: ['/bin/sh', '-c'],
  command: ['echo "$MODEL"; exit 3'],
  ports: [{ port: 8888, name: 'JupyterLab' }, { port: 6006 }],
  registryLogin: 'hub',
  user: '1000:1000',
};

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService({ secretsKeys: [KEY] });
  renter = await service.renter('1000');
  await create({ name: 'hf', value: 'hf_the-token' });
  await create({ name: 'hub', value: 'the-password', registry: 'docker.io', username: 'me' });
  await create({ name: 'quay', value: 'the-password', registry: 'quay.io', username: 'me' });
});
afterAll(() => service.close());

async function create(input: object, caller: Renter = renter) {
  const { body } = await caller.graphql(CREATE, { input });
  return body.errors === undefined ? body.data.createSecret : body.errors[0];
}

async function deploy(launch: object, more: object = {}, caller: Renter = renter) {
  const input = { machineId: await service.machine(), launch, ...more };
  const { body } = await caller.graphql(DEPLOY, { input });
  return body.errors === undefined ? body.data.deploy : body.errors[0];
}

const launchOf = async (id: string) =>
  (await renter.graphql(`{ instance(id: "${id}") { name launch { ${LAUNCH} } } }`)).body.data.instance;

describe('a launch', () => {
  it('is stored as given through either API, with defaults filled in', async () => {
    const shown = {
      ...complete,
      secrets: complete.secrets.map((each) => ({ variable: null, file: null, ...each })),
      ports: [complete.ports[0], { port: 6006, name: null }],
    };
    const input = { ...complete, restart: 'ON_FAILURE', onExit: 'STOP' };
    const { id, name, launch } = await deploy(input);
    expect([name, launch]).toEqual(['train-1', { ...shown, restart: 'ON_FAILURE', onExit: 'STOP' }]);
    expect((await launchOf(id)).launch).toEqual(launch);

    const { registryLogin, ...rest } = complete;
    const body = { ...rest, registry_login: registryLogin, restart: 'on_failure', on_exit: 'stop' };
    const machine_id = await service.machine();
    const { status, body: answer } = await renter.rest('POST', '/instances', { machine_id, ...body });
    expect([status, Object.keys(answer).length]).toEqual([201, 13]);
    expect((await launchOf(answer.id)).launch).toEqual(launch);
  });

  it("isn't stored if it has only defaults, and the instance is named after its id", async () => {
    const { id, name, launch } = await deploy({ env: {}, restart: 'ALWAYS', onExit: null });
    expect([name, launch]).toEqual([id, null]);
    expect(await service.sql('select from instance_launch where instance_id = $1', [id])).toEqual([]);
  });

  it('is compared when an idempotency key is reused', async () => {
    const machineId = await service.machine();
    const send = async (launch?: object) =>
      (await renter.graphql(DEPLOY, { input: { machineId, idempotencyKey: 'launch-1', launch } })).body;
    const first = await send({ env: { A: '1' } });
    expect((await send({ env: { A: '1' }, command: null, restart: 'ALWAYS' })).data.deploy.id).toBe(
      first.data.deploy.id,
    );
    for (const other of [{ env: { A: '2' } }, undefined])
      expect((await send(other)).errors[0].extensions.code).toBe('idempotency_mismatch');
  });

  it('is accepted by deployBest and checked by a quote', async () => {
    const query = `mutation($input: DeployBestInput!) { deployBest(input: $input) { launch { env } } }`;
    const { body } = await renter.graphql(query, { input: { launch: { env: { A: '1' } } } });
    expect(body.data.deployBest.launch.env).toEqual({ A: '1' });
    const quote = async (launch: object, caller = renter) =>
      (
        await caller.graphql(
          'query($input: QuoteInput!) { quote(input: $input) { canDeploy refusal { code message } } }',
          {
            input: { machineId: await service.machine(), launch },
          },
        )
      ).body;
    expect((await quote(complete)).data.quote.canDeploy).toBe(true);
    const missing = { canDeploy: false, refusal: { code: 'deploy_failed', message: 'there is no secret gone' } };
    expect((await quote({ secrets: [{ secret: 'gone', file: 'f' }] })).data.quote).toEqual(missing);
    expect((await quote({ name: 'No' })).errors[0].extensions.code).toBe('invalid_request');
  });

  it.each([
    [{ name: 'Train' }, 'name must be a name of 1 to 63 lowercase letters'],
    [{ name: '-a' }, 'name must be'],
    [{ secrets: [{ secret: 'hf', variable: '__proto__' }] }, 'secrets[0].variable must be a name'],
    [{ env: { '1A': 'x' } }, 'env["1A"] must be a name of 1 to 128 letters'],
    [{ env: { A: 1 } }, 'env.A must be text'],
    [{ env: { A: 'a\u0000' } }, 'env.A must be text'],
    [{ env: { A: '\ud800' } }, 'env.A must be text'],
    [{ env: { A: 'x'.repeat(32_001) } }, 'env must have at most 32000 bytes'],
    [
      { env: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`V${index}`, ''])) },
      'env must have at most 100 variables',
    ],
    [{ command: [] }, 'command must be a list of 1 to 1000 strings'],
    [{ command: ['ü'.repeat(16_001)] }, 'command must be'],
    [{ entrypoint: 'sh' }, 'entrypoint must be'],
    [{ secrets: [{ secret: 'hf' }] }, 'secrets[0] must have either'],
    [{ secrets: [{ secret: 'hf', variable: 'A', file: 'f' }] }, 'secrets[0] must have either'],
    [{ secrets: [{ secret: 'hf', file: '../f' }] }, 'secrets[0].file must be a name'],
    [{ ports: [{ port: 65_536 }] }, 'ports[0].port must be a whole number from 1 to 65535'],
    [{ registry_login: 'a b' }, 'registry_login must be'],
    [{ user: 'root:' }, 'user must be root, a user name of up to 32 characters or a number from 0 to 2147483647'],
    [{ user: '4294967295' }, 'user must be'],
    [{ user: 0 }, 'user must be'],
    [{ restart: 'sometimes' }, 'restart must be one of always, on_failure, never'],
    [{ on_exit: 'stop' }, 'a command that is always restarted never stops or destroys its instance'],
    [
      { type: 'res', restart: 'never', on_exit: 'destroy' },
      "a reserved instance can't be destroyed when its command ends",
    ],
  ])('out of bounds is rejected before renting, with the name of the field (%#)', async (members, message) => {
    const machine_id = await service.machine();
    const { status, body } = await renter.rest('POST', '/instances', { machine_id, ...members });
    expect([status, body.error.code]).toEqual([422, 'invalid_request']);
    expect(body.error.message).toContain(message);
    expect(await service.sql('select from instance where machine_id = $1', [machine_id])).toEqual([]);
  });

  it('with a missing secret, or one of the wrong kind, is rejected before renting', async () => {
    for (const [launch, message] of [
      [{ secrets: [{ secret: 'none', variable: 'A' }] }, 'there is no secret none'],
      [{ secrets: [{ secret: 'hub', variable: 'A' }] }, 'there is no secret hub'],
      [{ registryLogin: 'hf' }, 'there is no registry login hf'],
      [{ registryLogin: 'quay' }, 'registry login quay is for quay.io, not for docker.io'],
    ] as const) {
      expect(await deploy(launch)).toMatchObject({ message, extensions: { code: 'deploy_failed' } });
      // Another account's secret is treated as missing.
      expect(await deploy(complete, {}, await service.renter())).toMatchObject({ message: 'there is no secret hf' });
    }
  });
});

describe('secrets', () => {
  it('are listed without values and have unique names', async () => {
    const { body } = await renter.graphql('{ secrets { name kind registry username } }');
    expect(body.data.secrets).toEqual([
      { name: 'hf', kind: 'VALUE', registry: null, username: null },
      { name: 'hub', kind: 'REGISTRY_LOGIN', registry: 'docker.io', username: 'me' },
      { name: 'quay', kind: 'REGISTRY_LOGIN', registry: 'quay.io', username: 'me' },
    ]);
    expect(await create({ name: 'hf', value: 'x' })).toMatchObject({
      message: 'secret hf already exists; delete it first',
      extensions: { code: 'action_failed' },
    });
  });

  it.each([
    [{ name: 'a b', value: 'x' }, 'name must be'],
    [{ name: 'a', value: '' }, 'value must be a string of 1 to 32000 bytes without NUL'],
    [{ name: 'a', value: 'x'.repeat(32_001) }, 'value must be'],
    [{ name: 'a', value: 'x', registry: 'https://ghcr.io', username: 'u' }, 'registry must be'],
    [{ name: 'a', value: 'x', registry: 'ghcr.io' }, 'registry and username must be given together'],
  ])('out of bounds are rejected without showing their value (%#)', async (input, message) => {
    const refused = await create(input);
    expect(refused.message).toContain(message);
    expect(JSON.stringify(refused)).not.toContain('xx');
  });

  it('are limited to 100, even if created concurrently', async () => {
    const other = await service.renter();
    const all = await Promise.all(
      Array.from({ length: 110 }, (_, index) => create({ name: `s${index}`, value: 'x' }, other)),
    );
    expect(all.filter(({ name }) => name !== undefined)).toHaveLength(100);
    expect(await service.sql('select from secret where account_id = $1', [other.accountId])).toHaveLength(100);
  });

  it("appear in plaintext neither in the database nor in an account's export", async () => {
    const tables = await service.sql(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    let stored = '';
    for (const { name } of tables)
      stored += JSON.stringify(await service.sql(`select t::text as row from "${name}" t`));
    await exportAccount(service.deps, renter.accountId, async (text) => {
      stored += text;
    });
    expect(stored.includes('train-1')).toBe(true);
    for (const value of ['hf_the-token', 'the-password'])
      for (const written of [value, Buffer.from(value).toString('hex'), Buffer.from(value).toString('base64')])
        expect(stored.includes(written)).toBe(false);
    expect(stored.includes('"sealed"')).toBe(false);
  });

  it('are resealed on key rotation and never sealed with an outdated key', async () => {
    const next = randomBytes(32).toString('hex');
    const keysOf = (secretsKeys: string[]) => sealingKeysOf({ secretsKeys, databaseUrl: '', dataDir: '' });
    const both = { ...service.deps, sealingKeys: keysOf([next, KEY]) };
    await rotateSigningKey(service.deps);
    const before = await service.sql(
      'select (select count(*) from secret)::int + (select count(*) from signing_key)::int as count',
    );
    expect(await resealSecrets(both)).toBe(before[0]!.count);
    expect(await resealSecrets(both)).toBe(0);
    // This gateway has only the old key.
    expect(await create({ name: 'late', value: 'x' })).toMatchObject({
      extensions: { code: 'action_failed' },
      message: "new secrets are not stored: the operator's SECRETS_KEY lacks a key that secrets were sealed with",
    });
    expect(await resealSecrets({ ...service.deps, sealingKeys: keysOf([KEY, next]) })).toBe(before[0]!.count);
    expect(await create({ name: 'late', value: 'x' })).toMatchObject({ name: 'late' });
  });

  it('remain readable after an aborted reseal, which the next run completes', async () => {
    const next = randomBytes(32).toString('hex');
    const sealingKeys = sealingKeysOf({ secretsKeys: [next, KEY], databaseUrl: '', dataDir: '' });
    const both = { ...service.deps, sealingKeys };
    const oldKey = sealingKey(KEY).id;
    const count = async (where = 'true') =>
      (await service.sql(`select count(*)::int as count from secret where ${where}`))[0]!.count as number;
    const [all, newKey] = [await count(), `key_id <> '${oldKey}'`];
    const holder = new pg.Client({ connectionString: service.databaseUrl });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select from secret order by id desc limit 1 for update');
    const db = openDatabase(service.databaseUrl);
    const killed = expect(resealSecrets({ ...both, db })).rejects.toThrow();
    await expect.poll(() => count(newKey), { timeout: 30_000 }).toBe(100);
    // The session ends in the middle of a transaction, as if the process were killed.
    const waiting = `datname = current_database() and wait_event_type = 'Lock'`;
    await expect
      .poll(async () => (await holder.query(`select from pg_stat_activity where ${waiting}`)).rowCount, {
        timeout: 30_000,
      })
      .toBe(1);
    await holder.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${waiting}`);
    await killed;
    await db.close();
    await holder.end();
    expect([await count(newKey), all > 100]).toEqual([100, true]);
    const rows = await service.sql('select account_id as "accountId", name from secret where kind = \'VALUE\'');
    for (const { accountId, name } of rows as { accountId: string; name: string }[]) {
      const launch = { secrets: [{ secret: name, variable: 'V' }] };
      const { variables } = await secretsOfStart(both, accountId, launch, 'busybox');
      expect(variables.V).toBe(name === 'hf' ? 'hf_the-token' : 'x');
    }
    const [signing] = await service.sql('select count(*)::int as keys from signing_key');
    expect(await resealSecrets(both)).toBe(all - 100 + (signing as { keys: number }).keys);
    expect(await count(newKey)).toBe(all);
    await resealSecrets({
      ...both,
      sealingKeys: sealingKeysOf({ secretsKeys: [KEY, next], databaseUrl: '', dataDir: '' }),
    });
  });

  it('can be deleted', async () => {
    const remove = (caller = renter) => caller.graphql('mutation { deleteSecret(name: "late") { name } }');
    expect((await remove(await service.renter())).body.errors[0].extensions.code).toBe('not_found');
    expect((await remove()).body.data.deleteSecret).toEqual({ name: 'late' });
    expect((await remove()).body.errors[0].extensions.code).toBe('not_found');
  });
});

describe('a host agent', () => {
  const join = async () => {
    const { code } = await enrol(service.deps, {
      machineId: null,
      gpu: null,
      region: 'us-tx',
      online: true,
      demo: false,
    });
    const agent = await WireAgent.join(service.address, code, hardware());
    await agent.report();
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
    return agent;
  };
  const secretsOf = async (agent: WireAgent, id: string, start: number) => {
    const url = `${service.address}/agent/v1/secrets?instance=${id}&start=${start}`;
    const answer = await fetch(url, { headers: agent.headers() });
    return [answer.status, await answer.json()];
  };

  it('receives the launch, and only the secrets of the current start', async () => {
    const [agent, stranger] = [await join(), await join()];
    const launch = { ...complete, registryLogin: 'quay', restart: 'NEVER' };
    const input = { machineId: agent.machineId, template: 'jupyter', launch };
    const { body } = await renter.graphql(DEPLOY, { input });
    expect(body.errors).toBeUndefined();
    const { id } = body.data.deploy;
    const state = await agent.desired();
    const [desired] = state.instances;
    expect(desired).toMatchObject({
      id,
      entrypoint: complete.entrypoint,
      command: complete.command,
      restart: 'NEVER',
      secrets: true,
      env: { ...complete.env, GPU_INSTANCE_ID: id, GPU_COUNT: '1' },
      ports: expect.arrayContaining([8888, 6006]),
    });
    expect(desired!.ports.filter((port) => port === 8888)).toHaveLength(1);
    expect(JSON.stringify(state)).not.toContain('hf_the-token');

    const given = {
      // The template generates a token for each instance.
      variables: { HF_TOKEN: 'hf_the-token', JUPYTER_TOKEN: expect.stringMatching(/^[0-9a-f]{32}$/) },
      files: { 'hf-token': 'hf_the-token' },
      registryLogin: { registry: 'quay.io', username: 'me', password: 'the-password' },
    };
    expect(await secretsOf(agent, id, 1)).toEqual([200, given]);
    const none = [404, { error: { code: 'not_found', message: 'no such start' } }];
    expect(await secretsOf(agent, id, 2)).toEqual(none);
    expect(await secretsOf(stranger, id, 1)).toEqual(none);
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    expect(await secretsOf(agent, id, 1)).toEqual(none);
    // The agent doesn't receive the launch of a stopped instance.
    expect(await agent.desired()).toMatchObject({ instances: [{ phase: 'stopped', command: null, env: {} }] });
    await renter.graphql('mutation { deleteSecret(name: "quay") { name } }');
    const start = await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' });
    expect([start.status, start.body.error.message]).toEqual([409, 'there is no registry login quay']);
  });

  it.each([
    ['KEEP', 'RUNNING', null],
    ['STOP', 'STOPPED', 'COMMAND_ENDED'],
    ['DESTROY', 'DESTROYED', 'COMMAND_ENDED'],
  ])('triggers onExit %s by reporting that the command has ended', async (onExit, status, stopReason) => {
    const agent = await join();
    const { id } = await deploy({ command: ['false'], restart: 'NEVER', onExit }, { machineId: agent.machineId });
    await agent.desired();
    const ended = () => agent.report([seen(id, 'EXITED', { exitCode: 7 })]);
    await ended();
    const query = `{ instance(id: "${id}") { status stopReason runtime { phase exitCode } } }`;
    const shown = { status, stopReason, runtime: { phase: 'EXITED', exitCode: 7 } };
    expect((await renter.graphql(query)).body.data.instance).toEqual(shown);
    // A repeated report has no further effect, and a late report on that start doesn't end the next one.
    await ended();
    expect((await renter.graphql(query)).body.data.instance).toEqual(shown);
    if (onExit !== 'STOP') return;
    await agent.desired();
    await agent.report([seen(id, 'STOPPED', { exitCode: 7 })]);
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' });
    await ended();
    expect((await renter.graphql(query)).body.data.instance.status).toBe('RUNNING');
  });

  it("can't get a secret whose sealing key the gateway lacks, so the start fails", async () => {
    const agent = await join();
    const { id } = await deploy({ secrets: [{ secret: 'hf', file: 'f' }] }, { machineId: agent.machineId });
    const lost = {
      ...service.deps,
      sealingKeys: async (): Promise<SealingKeys> => [sealingKey(randomBytes(32).toString('hex'))],
    };
    await expect(secretsForAgent(lost, agent.machineId, id, 1)).rejects.toMatchObject({
      code: 'action_failed',
      message: "secret hf can't be opened: the operator's SECRETS_KEY lacks a key that secrets were sealed with",
    });
  });

  it('receives no launch with options that it is too old to support', async () => {
    const agent = await join();
    agent.launches = false;
    await agent.report();
    const rent = (launch: object) => deploy(launch, { machineId: agent.machineId });
    const message = `the host agent of machine ${agent.machineId} is too old for an entrypoint, secrets, a registry login or a restart policy`;
    for (const launch of [{ entrypoint: ['sh'] }, { restart: 'NEVER' }, { registryLogin: 'hub' }])
      expect(await rent(launch)).toMatchObject({ message, extensions: { code: 'deploy_failed' } });
    // It understands everything else. Instances rented before an agent downgrade wait for a newer agent.
    const { id } = await rent({ name: 'old', command: ['serve'], env: { A: '1' }, ports: [{ port: 80 }] });
    expect((await agent.desired()).instances).toMatchObject([
      { phase: 'running', command: ['serve'], env: { A: '1' } },
    ]);
    await service.sql(`update instance_launch set launch = launch || '{"restart": "NEVER"}' where instance_id = $1`, [
      id,
    ]);
    await agent.report([seen(id, 'STARTING')]);
    expect((await agent.desired()).instances).toMatchObject([{ id, phase: 'stopped' }]);
    agent.launches = true;
    await agent.report([seen(id, 'STOPPED')]);
    expect((await agent.desired()).instances).toMatchObject([{ id, phase: 'running', restart: 'NEVER' }]);
  });

  it("receives the launch's command or entrypoint instead of the template's command", async () => {
    const [one, other] = [await join(), await join()];
    await service.sql(
      `update template set command = '["serve"]', env = '{"MODE": "fast", "A": "template"}', variables = '[]'
       where slug = 'vllm'`,
    );
    const desiredOf = async (agent: WireAgent, launch: object) => {
      const input = { machineId: agent.machineId, template: 'vllm', launch };
      await renter.graphql(DEPLOY, { input });
      return (await agent.desired()).instances[0]!;
    };
    const first = await desiredOf(one, { command: ['serve', '--model', 'm'], env: { A: 'mine' } });
    expect(first).toMatchObject({ command: ['serve', '--model', 'm'], env: { MODE: 'fast', A: 'mine' } });
    expect(first).not.toHaveProperty('entrypoint');
    expect(first).not.toHaveProperty('secrets');
    expect(await desiredOf(other, { entrypoint: ['sh'] })).toMatchObject({ entrypoint: ['sh'], command: null });
  });
});

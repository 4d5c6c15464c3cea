import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { follow, visit } from '../../support/access/visit.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { mountsBelow } from '../../support/hosts/leftovers.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { UNTIL_TERM } from '../../support/hosts/registry.js';
import { admin, folder } from '../../support/process.js';
import { type Receiver, startReceiver } from '../../support/trace-receiver.js';
import { until } from '../../support/until.js';

const CREATE = 'mutation($input: SecretInput!) { createSecret(input: $input) { name } }';
const STAYS = ['/bin/sh', '-c', UNTIL_TERM];
/** Random, so that only this run can have written it. */
const value = () => `hush-${randomBytes(12).toString('hex')}`;
const [variable, file, wrong, inline] = [value(), value(), value(), value()];

/** The gateway, host agent and Podman run as an operator runs them, but with the most verbose settings. */
describe('secret values', () => {
  const wanted = needsEngine('podman');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  const dataDir = folder();
  let receiver: Receiver;
  let fleet: RealFleet;
  let renter: RealRenter;
  let host: RealHost;
  /** The gateway's responses. */
  let answers = '';

  beforeAll(async () => {
    receiver = await startReceiver();
    fleet = await RealFleet.open({
      DATABASE_URL: '',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
    renter = await fleet.renter();
    host = await fleet.host();
    await fleet.template('lab', `${fleet.registry.at}/busybox`, {
      ports: '8888:Lab',
      path: '/lab?token=$(LAB_TOKEN)',
      variables: [
        { name: 'LAB_TOKEN', description: 'Lets you in', made: true },
        { name: 'PASSWORD', description: 'Lets you in elsewhere', made: true },
      ],
    });
  });
  afterAll(async () => {
    await fleet?.close();
    await receiver?.close();
  });

  const graphql = async (query: string, variables?: Record<string, unknown>) => {
    const { body } = await renter.api.graphql(query, variables);
    answers += JSON.stringify(body);
    return body;
  };
  const create = (input: object | string) => graphql(CREATE, { input });

  it('reach the container and are written nowhere else', async () => {
    const { closedAt, login } = fleet.registry;
    const place = { registry: closedAt, username: login.username };
    const values = [variable, file, wrong, inline, login.password];
    for (const input of [
      { name: 'variable', value: variable },
      { name: 'file', value: file },
      { name: 'login', value: login.password, ...place },
      { name: 'wrong', value: wrong, ...place },
    ])
      expect((await create(input)).errors).toBeUndefined();
    await refusedInEveryWay();

    await fleet.registry.push('private', { command: STAYS });
    const image = `${closedAt}/private`;
    const secrets = [
      { secret: 'variable', variable: 'TOKEN' },
      { secret: 'file', file: 'token' },
    ];
    const refused = await renter.deploy(host.machineId, { template: image, secrets, registry_login: 'wrong' });
    const { runtime } = await renter.phase(refused.id, 'FAILED');
    expect(runtime.message).toBe('the registry rejected the login, or has no such image for it');
    await renter.destroy(refused.id);

    const { id } = await renter.deploy(host.machineId, { template: image, secrets, registry_login: 'login' });
    await renter.phase(id, 'RUNNING');
    const seen = (...command: string[]) => fleet.engine.exec(id, ...command).then(({ text }) => text);
    expect(await seen('sh', '-c', 'echo $TOKEN; cat /run/secrets/token')).toBe(`${variable}\n${file}`);
    expect(await seen('stat', '-c', '%a', '/run/secrets/token')).toBe('400\n');
    const inspected = JSON.stringify(await fleet.engine.docker.getContainer(`gpu-${id}`).inspect());
    expect(values.filter((each) => inspected.includes(each))).toEqual([variable]);
    await renter.act(id, 'stop');
    await renter.phase(id, 'STOPPED');
    expect(mountsBelow(join(host.dataDir, 'secrets'))).toEqual([]);
    await renter.act(id, 'start');
    await renter.phase(id, 'RUNNING');

    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
    const made = await madeTokens();
    values.push(...made);

    await until('spans', async () => receiver.text().includes('/agent/v1/secrets'), 20_000);
    const backup = join(folder(), 'backup');
    expect(await admin(['backup', backup], { DATA_DIR: dataDir })).toMatchObject({ code: 0, stderr: '' });
    const written: Record<string, Buffer> = {
      answers: Buffer.from(answers),
      spans: Buffer.from(receiver.text()),
      'log of the agent': Buffer.from(host.log),
      'log of the gateway': Buffer.from(fleet.gatewayOutput),
      backup: gunzipSync(readFileSync(backup)),
      // This includes tables, the write-ahead log and PostgreSQL's own log.
      ...filesBelow(dataDir),
      ...filesBelow(host.dataDir),
    };
    expect(Object.keys(written).length).toBeGreaterThan(500);
    for (const [place, bytes] of Object.entries(written)) {
      expect(bytes.length, place).toBeGreaterThanOrEqual(0);
      for (const each of values)
        for (const form of [each, Buffer.from(each).toString('base64').slice(0, -4), Buffer.from(each).toString('hex')])
          expect(bytes.includes(form), `${place} holds a secret`).toBe(false);
    }
  });

  /**
   * Returns the tokens of a running instance as its container has them. They are requested in every way that might
   * write them somewhere.
   */
  async function madeTokens(): Promise<string[]> {
    const { id } = await renter.deploy(host.machineId, { template: 'lab' });
    await renter.phase(id, 'RUNNING');
    // This doesn't use `graphql`, because only this response may contain the tokens.
    const query = `{ instanceLinks(id: "${id}") { links { path } tokens { variable value } } }`;
    const { links, tokens } = (await renter.api.graphql(query)).body.data.instanceLinks;
    const values: string[] = tokens.map(({ value }: { value: string }) => value);
    expect(new Set(values).size).toBe(2);
    const { text } = await fleet.engine.exec(id, 'sh', '-c', 'echo $LAB_TOKEN $PASSWORD');
    expect(text).toBe(`${values.join(' ')}\n`);
    const link = 'mutation($id: ID!, $path: String) { webLink(id: $id, path: $path) { url } }';
    const at = new URL((await renter.api.graphql(link, { id, path: links[0].path })).body.data.webLink.url);
    const cookie = await follow(fleet.address, at);
    await visit(fleet.address, at.host, links[0].path, { headers: { cookie } });
    await visit(fleet.address, at.host, links[0].path);
    await renter.act(id, 'stop');
    await renter.phase(id, 'STOPPED');
    await renter.act(id, 'start');
    await renter.phase(id, 'RUNNING');
    await graphql(
      `{ instance(id: "${id}") { launch { env } ports { url } webUrl runtime { message } } instances { id } }`,
    );
    for (const wrong of [
      `{ instanceLinks(id: "${id}", token: "${values[0]}") { links { path } } }`,
      `{ instanceLinks(id: "${values[0]}") { links { path } } }`,
    ])
      expect((await renter.api.graphql(wrong)).body.errors).toHaveLength(1);
    return values;
  }

  /** Provokes every error whose response, log line or span might quote its input. */
  async function refusedInEveryWay() {
    for (const input of [
      { name: 'variable', value: inline },
      { name: 'a b', value: inline },
      { name: 'list', value: [inline] },
      { name: 'object', value: { inline } },
      { name: 'long', value: inline.repeat(2_000) },
      { name: 'half', value: inline, registry: 'ghcr.io' },
      { name: 'more', value: inline, kind: 'VALUE' },
      { value: inline },
      inline,
    ])
      expect((await create(input)).errors).toHaveLength(1);
    for (const document of [
      `mutation { createSecret(input: { name: "variable", value: "${inline}" }) { name } }`,
      `mutation { createSecret(input: { name: "typed", value: ["${inline}"] }) { name } }`,
      `mutation { createSecret(input: { name: "more", value: "${inline}", kind: 1 }) { name } }`,
      `mutation { createSecret(input: "${inline}") { name } }`,
      `mutation { createSecret(input: { name: "broken", value: "${inline}" }`,
      `mutation { createSecret(input: { name: "broken", value: "${inline}\n" }) { name } }`,
    ])
      expect((await graphql(document)).errors.length).toBeGreaterThan(0);
  }
});

/** Reads the files of a folder and of disks' file systems, but not of mounts below it. */
function filesBelow(root: string): Record<string, Buffer> {
  const { dev } = lstatSync(root);
  const found: Record<string, Buffer> = {};
  for (const name of readdirSync(root)) {
    const path = join(root, name);
    const stat = lstatSync(path);
    if (stat.dev !== dev) continue;
    if (stat.isDirectory()) Object.assign(found, filesBelow(path));
    // The file of an instance's disk is as large as the rented disk and consists mostly of holes.
    else if (stat.isFile() && stat.size < 100_000_000) found[path] = readFileSync(path);
  }
  return found;
}

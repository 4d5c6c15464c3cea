import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { admin, adminJson } from '../../support/operator.js';
import {
  admin as adminProcess,
  cleanUp,
  folder,
  type GatewayProcess,
  serverOf,
  startProcess,
} from '../../support/process.js';

afterAll(cleanUp);

const TO_FULL_DISK = { prefix: ['sh', '-c', 'exec "$0" "$@" > /dev/full'] };

describe('an operator command', () => {
  let databaseUrl: string;
  beforeAll(async () => {
    databaseUrl = await createTestDatabase();
  });

  it('prints the same output in a separate process as in this one', async () => {
    for (const args of [
      ['account', 'create', '--name', ''],
      ['audit', '--json'],
    ]) {
      expect(await adminProcess(args, { DATABASE_URL: databaseUrl })).toEqual(
        await admin(args, { DATABASE_URL: databaseUrl }),
      );
    }
  });

  it('exits with 2 for wrong settings and with 1 for a missing database', async () => {
    const wrong = await adminProcess(['account', 'list'], { DATABASE_URL: 'somewhere' });
    expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([
      2,
      '',
      expect.stringMatching(/^DATABASE_URL must [^\n]+\n$/),
    ]);
    const away = await adminProcess(['account', 'list'], { DATABASE_URL: 'postgresql://x:hunter2@127.0.0.1:1/x' });
    expect([away.code, away.stdout, away.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/^can.t use the database at DATABASE_URL: [^\n]+\n$/),
    ]);
    expect(away.stderr).not.toContain('hunter2');
  });

  it.skipIf(!existsSync('/dev/full'))('exits with 1 and one line if its output can’t be written', async () => {
    const { code, stderr } = await adminProcess(['account', 'list'], { DATABASE_URL: databaseUrl }, TO_FULL_DISK);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^can't write the output: [^\n]*\n$/)]);
  });

  it('prints its usage with --help', async () => {
    const { code, stdout, stderr } = await adminProcess(['--help'], {});
    expect([code, stderr]).toEqual([0, '']);
    for (const name of ['account', 'key', 'instance', 'statement', 'audit']) expect(stdout).toContain(`  ${name} `);
  });
});

describe('an operator command on a data folder', () => {
  const dataDir = join(folder(), 'data');
  const env = { DATA_DIR: dataDir };
  let early: { id: string };
  let gateway: GatewayProcess;

  const expectNoServer = async () => {
    expect(await serverOf(dataDir)).toBeUndefined();
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
  };

  it('may run before the gateway’s first start, which still loads the catalogue', async () => {
    early = await adminJson(['account', 'create', '--name', 'Early', '--credit', '1'], env);
    await expectNoServer();
    gateway = await startProcess({ ...env, SEED: 'catalogue' });
    expect((await client(gateway.address).rest('GET', '/gpus/pricing')).body.count).toBe(83);
  });

  it('uses the running gateway’s server and leaves it running', async () => {
    const server = await serverOf(dataDir);
    const { api_key } = await adminJson(['key', 'create', '--account', early.id], env);
    expect((await client(gateway.address, api_key).rest('GET', '/balance')).body.balance).toBe(1);
    expect(await serverOf(dataDir)).toEqual(server);
    expect((await gateway.end()).code).toBe(0);
    await expectNoServer();
  });

  it('may start with the gateway, in which case the last to exit stops the server', async () => {
    const credit = adminJson(['account', 'credit', early.id, '--amount', '2'], env);
    gateway = await startProcess(env);
    expect((await credit).balance).toBe(3);
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
    const listing = adminJson(['account', 'list'], env);
    expect((await gateway.end()).code).toBe(0);
    expect(await listing).toMatchObject([{ name: 'Early', balance: 3 }]);
    await expectNoServer();
  });
});

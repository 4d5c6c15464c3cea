import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { cleanUp, type Env, folder, MAIN, run, serverOf, startProcess } from '../../support/process.js';
import { needsRoot, needsThat } from '../../support/tools.js';

const ORDINARY_USER = 65534;
const AS_ORDINARY_USER = ['setpriv', `--reuid=${ORDINARY_USER}`, `--regid=${ORDINARY_USER}`, '--clear-groups'];

afterAll(cleanUp);

function works(file: string, ...args: string[]): boolean {
  try {
    execFileSync(file, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('an ordinary user’s gateway', () => {
  const root = needsRoot('setpriv');
  const isReadable = () => works(AS_ORDINARY_USER[0]!, ...AS_ORDINARY_USER.slice(1), 'test', '-r', MAIN);
  const user = root.skip ? root : needsThat(isReadable(), 'a readable checkout', 'a folder that others may enter');
  it('can run in a folder accessible only to this user', user, async () => {
    const home = folder();
    chmodSync(home, 0o700);
    chownSync(home, ORDINARY_USER, ORDINARY_USER);
    const dataDir = join(home, 'data');
    const env = { DATA_DIR: dataDir, SEED: 'catalogue' };
    const gateway = await startProcess(env, { prefix: AS_ORDINARY_USER, cwd: home });
    expect((await client(gateway.address).rest('GET', '/gpus/pricing')).body.count).toBe(83);
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(ORDINARY_USER);
    expect((await gateway.end()).code).toBe(0);
    expect(await serverOf(dataDir)).toBeUndefined();
  });
});

describe('the .env file', () => {
  it('is read from the working directory, but the environment takes precedence', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, '.env'), 'PORT=nonsense\nDATABASE_URL=mysql://x\nSEED=\n');
    const both = await run([MAIN], { PORT: '' }, { cwd }).ended;
    // PORT is set in the environment but empty.
    expect([both.code, both.stderr]).toEqual([1, `${REFUSED.databaseUrl}\n`]);
    const other = await run([MAIN], { DATABASE_URL: NOWHERE, PORT: 'x' }, { cwd }).ended;
    expect(other.stderr).toMatch(/^PORT must be [^\n]*\n$/);
  });

  it('causes an error if it can’t be read', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, '.env'));
    const { code, stderr } = await run([MAIN], {}, { cwd }).ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^\.env can't be read: [^\n]*\n$/)]);
  });
});

const NOWHERE = 'postgresql://gateway:hunter2@127.0.0.1:1/gateway';
const REFUSED = {
  databaseUrl: 'DATABASE_URL must be a URL such as postgresql://user:password@host:5432/database',
};

describe('a problem the operator can fix', () => {
  /** Returns the line, after an exit with code 1 and no output on stdout. */
  async function refusal(env: Env): Promise<string> {
    const { code, stdout, stderr } = await run([MAIN], { LOG_LEVEL: 'silent', ...env }).ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    return stderr.trim();
  }

  it('is reported in one line for settings, databases, addresses and ports', async () => {
    const [setting, database] = [await refusal({ SEED: 'everything' }), await refusal({ DATABASE_URL: NOWHERE })];
    expect(setting).toMatch(/^SEED must be demo, catalogue or none$/);
    expect(database).toMatch(/^can't use the database at DATABASE_URL: connect ECONNREFUSED 127\.0\.0\.1:1$/);
    expect(await refusal({ DATA_DIR: '/dev/null/data' })).toMatch(/^The built-in PostgreSQL is not available: /);
    const env = { DATABASE_URL: await createTestDatabase() };
    expect(await refusal({ ...env, HOST: '203.0.113.5' })).toMatch(/^can't listen on HOST: .+/);
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    expect(await refusal({ ...env, PORT: port })).toMatch(
      new RegExp(`^PORT ${port} is in use by another program.*set `),
    );
    other.close();
  });
});

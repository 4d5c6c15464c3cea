import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appendToLog } from '../../../src/domain/proof/log.js';
import { withoutTimers } from '../../support/background.js';
import { type Renter, startGateway, type TestGateway } from '../../support/gateway.js';
import { admin, adminJson } from '../../support/operator.js';
import type { Env } from '../../support/process.js';

const SECRETS_KEY = '5e'.repeat(32);
const KEY_ID = /^[0-9a-f]{16}$/;

withoutTimers();
let gateway: TestGateway;
let env: Env;
let renter: Renter;

beforeAll(async () => {
  gateway = await startGateway({ secretsKeys: [SECRETS_KEY] });
  env = { DATABASE_URL: gateway.databaseUrl, SECRETS_KEY };
  // Operator commands use the machine's clock.
  gateway.clock.set(new Date().toISOString());
  renter = await gateway.renter();
  await appendToLog(gateway.deps);
});
afterAll(() => gateway.close());

async function publicKeys() {
  return (await (await fetch(`${gateway.address}/.well-known/gpu-rental/keys.json`)).json()) as {
    keys: { id: string; from: string; until: string | null; publicKey: string }[];
  };
}

describe('signing-key', () => {
  it('list prints the public keys as a table and as the public document', async () => {
    const document = await publicKeys();
    const [key] = document.keys;
    expect(await adminJson(['signing-key', 'list'], env)).toEqual(document);
    const { code, stdout } = await admin(['signing-key', 'list'], env);
    expect(code).toBe(0);
    const [heading, ...lines] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^KEY +FROM +UNTIL +PUBLIC KEY$/);
    expect(lines.map((line) => line.split(/ +/))).toEqual([[key!.id, key!.from, '-', key!.publicKey]]);
  });

  it('rotate adds a key that the gateway publishes, and ends the previous one', async () => {
    const { stdout } = await admin(['signing-key', 'rotate'], env);
    const [, id, from] = /^key (\S+) signs from (\S+)\n$/.exec(stdout)!;
    expect(id).toMatch(KEY_ID);
    await expect.poll(async () => (await publicKeys()).keys.map((key) => key.until)).toEqual([from, null]);
    const third = await adminJson(['signing-key', 'rotate'], env);
    expect(third).toMatchObject({ algorithm: 'Ed25519', previous: id, until: null });
    expect((await adminJson(['signing-key', 'list'], env)).keys.at(-1)).toEqual(third);
  });

  it('rotate exits with 2 without the key that seals private keys', async () => {
    const { code, stderr } = await admin(['signing-key', 'rotate'], { ...env, SECRETS_KEY: '' });
    expect(code).toBe(2);
    expect(stderr).toContain('SECRETS_KEY');
    expect((await adminJson(['signing-key', 'list'], env)).keys).toHaveLength(3);
  });
});

describe('audit', () => {
  it('exits with 1 if a root of the public log was changed', async () => {
    expect(await admin(['audit'], env)).toMatchObject({ code: 0, stdout: expect.stringContaining(': no mismatch\n') });
    const flip = 'update log_root set signature = set_byte(signature, 0, get_byte(signature, 0) # 1)';
    await gateway.deps.db.pool.query(flip);
    const { code, stdout } = await admin(['audit'], env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^- +root 1 +roots are signed and follow each other +the signature doesn't verify$/m);
    expect(JSON.parse((await admin(['audit', '--json'], env)).stdout).findings).toEqual([
      {
        check: 'roots are signed and follow each other',
        account_id: '',
        subject: 'root 1',
        detail: "the signature doesn't verify",
      },
    ]);
    await gateway.deps.db.pool.query(flip);
  });
});

describe('invoice', () => {
  const month = new Date().toISOString().slice(0, 7);

  it("prints the page of the renter's invoice", async () => {
    const printed = await admin(['invoice', renter.accountId, '--month', month], env);
    expect(printed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^<!doctype html>[\s\S]*<\/html>\n$/) });
    const { number, statement_hash } = await adminJson(['invoice', renter.accountId, '--month', month], env);
    expect(number).toBe(`${renter.accountId}-${month}`);
    expect(printed.stdout).toContain(number);
    expect(statement_hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('exits with 2 for a month in which the account had no bill', async () => {
    const { code, stderr } = await admin(['invoice', renter.accountId, '--month', '2020-01'], env);
    expect(code).toBe(2);
    expect(stderr).toBe(`month must be from ${month} to ${month}; got 2020-01\n`);
  });
});

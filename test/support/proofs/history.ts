import { randomBytes } from 'node:crypto';
import { adjustAccount, creditAccount } from '../../../src/domain/accounts/accounts.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { type SealingKeys, sealingKey } from '../../../src/domain/kernel/sealing.js';
import { formatInstant, monthStartOf } from '../../../src/domain/kernel/time.js';
import { appendToLog, consistencyProof, inclusionProof, rootsAfter } from '../../../src/domain/proof/log.js';
import { signedStatement } from '../../../src/domain/proof/signed-statement.js';
import { keysDocument, rotateSigningKey } from '../../../src/domain/proof/signing-keys.js';
import { createVolume, deleteVolume, growVolume } from '../../../src/domain/volumes/volumes.js';
import type { VerifiedFile } from '../../../src/verify/verify.js';
import { openTestDomain, type TestDomain } from '../domain.js';

const DAY = 86_400;

/** A document of the service, under the name of the file that holds it. */
export interface ProofFile {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests change arbitrary members
  document: any;
}

/** Opens a domain that can sign. */
export async function openSigningDomain(start?: string): Promise<TestDomain> {
  const keys: SealingKeys = [sealingKey(randomBytes(32).toString('hex'))];
  return { ...(await openTestDomain({}, start)), sealingKeys: async () => keys };
}

/**
 * Runs a history of three months with all kinds of entries, usage across the borders of months, a new signing key and
 * five roots. Returns the ids of the two accounts.
 */
export async function runProofHistory(domain: TestDomain): Promise<[string, string]> {
  domain.clock.set('2027-10-30T22:00:00Z');
  const [account, other] = [await domain.account('500'), await domain.account('50')];
  const wait = (seconds: number) => domain.clock.advance(seconds);
  const machines = [await domain.machine('rtx-4090'), await domain.machine('p4'), await domain.machine('l4')];
  const rent = async (owner: string, machine: number, mode: 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED') =>
    (await deploy(domain, owner, { machineId: machines[machine]!, mode, diskGb: 33 })).instance.id;
  const owner = { accountId: account, keyId: null };
  const reserved = await rent(account, 1, 'RESERVED');
  const { volume } = await createVolume(domain, owner, { name: 'data', sizeGb: 100 });
  wait(1_234);
  await appendToLog(domain);
  const spot = await rent(other, 0, 'INTERRUPTIBLE');
  wait(40_007);
  const taken = await rent(account, 0, 'ON_DEMAND');
  wait(11);
  await act(domain, account, { id: taken, action: 'DESTROY' });
  await act(domain, other, { id: spot, action: 'START' });
  await addServiceCredit(domain, account, reserved, 1_234_567n);
  await appendToLog(domain);
  wait(2 * DAY);
  await growVolume(domain, owner, { id: volume.id, sizeGb: 250 });
  await creditAccount(domain, account, {
    amountMicro: 7_000_001n,
    reference: 'r-1',
    note: 'card "x" – Überweisung 💶',
  });
  await rotateSigningKey(domain);
  wait(9 * DAY + 1);
  await act(domain, account, { id: reserved, action: 'STOP' });
  await appendToLog(domain);
  wait(5 * DAY);
  await act(domain, account, { id: reserved, action: 'DESTROY' });
  await adjustAccount(domain, account, { amountMicro: -123_456n, note: 'line "7"' });
  const late = await rent(account, 2, 'ON_DEMAND');
  wait(20 * DAY);
  await act(domain, account, { id: late, action: 'STOP' });
  await deleteVolume(domain, owner, { id: volume.id });
  await appendToLog(domain);
  wait(2 * DAY);
  await act(domain, account, { id: late, action: 'START' });
  wait(DAY);
  await creditAccount(domain, other, { amountMicro: 3_000_000n });
  wait(5);
  await appendToLog(domain);
  wait(7);
  return [account, other];
}

/** Returns the months from the account's creation until now, such as 2026-11. */
export async function monthsOf(domain: TestDomain, account: string): Promise<string[]> {
  const { createdAt } = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: account } });
  const last = formatInstant(monthStartOf(domain.clock.now())).slice(0, 7);
  const months: string[] = [];
  for (let each = createdAt; ; each = new Date(Date.UTC(each.getUTCFullYear(), each.getUTCMonth() + 1, 1))) {
    const month = each.toISOString().slice(0, 7);
    if (month > last) return months;
    months.push(month);
  }
}

/** Returns all documents of the accounts and of the log. */
export async function documentsOf(domain: TestDomain, accounts: readonly string[]): Promise<ProofFile[]> {
  const files: ProofFile[] = [];
  for (const account of accounts) {
    for (const month of await monthsOf(domain, account)) {
      files.push({ name: `${account}-${month}.json`, document: await signedStatement(domain, account, month) });
    }
    const inclusion = await inclusionProof(domain, account);
    if (inclusion !== null) files.push({ name: `${account}-inclusion.json`, document: inclusion });
  }
  const roots = await rootsAfter(domain, 0);
  const sizes = roots.roots.map(({ size }) => size);
  for (const [index, second] of sizes.entries()) {
    const first = sizes[index - 1];
    if (first === undefined) continue;
    files.push({
      name: `consistency-${index}.json`,
      document: await consistencyProof(domain, first, second),
    });
  }
  // The statements may have created the first key.
  return [
    { name: 'keys.json', document: await keysDocument(domain) },
    { name: 'roots.json', document: roots },
    ...files,
  ];
}

/** Returns the files as the verifier reads them. */
export function asFiles(files: readonly ProofFile[]): VerifiedFile[] {
  return files.map(({ name, document }) => ({ name, content: Buffer.from(JSON.stringify(document)) }));
}

/** Adds a service credit, without the outage that it refunds. */
async function addServiceCredit(domain: TestDomain, account: string, instance: string, units: bigint): Promise<void> {
  await domain.db.pool.query(
    `with credit as (
       insert into ledger_entry (id, account_id, kind, units, at, instance_id)
       values ($2 || '/service/1', $1, 'SERVICE_CREDIT', $3, to_timestamp($4), $2)
     ) update account set credit_units = credit_units + $3 where id = $1`,
    [account, instance, units, Number(domain.clock.now())],
  );
}

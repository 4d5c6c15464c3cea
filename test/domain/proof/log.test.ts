import { createHash, createPublicKey, verify } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { sealingKey } from '../../../src/domain/kernel/sealing.js';
import { auditLog } from '../../../src/domain/proof/audit-log.js';
import type { RootDocument } from '../../../src/domain/proof/documents.js';
import {
  appendIfDue,
  appendToLog,
  consistencyProof,
  inclusionProof,
  rootsAfter,
} from '../../../src/domain/proof/log.js';
import { canonical, tagged } from '../../../src/domain/proof/rules/canonical.js';
import { leafHash, nodeHash } from '../../../src/domain/proof/rules/tree.js';
import { keysDocument } from '../../../src/domain/proof/signing-keys.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const KEY = sealingKey('5e'.repeat(32));
let domain: TestDomain;

async function open(shared?: Parameters<typeof openTestDomain>[2]): Promise<TestDomain> {
  return { ...(await openTestDomain({}, undefined, shared)), sealingKeys: async () => [KEY] };
}

/** Adds an entry to the account's chain. */
async function grow(accountId: string): Promise<void> {
  domain.clock.advance(1);
  await creditAccount(domain, accountId, { amountMicro: 1_000_000n });
}

/** Adds chains with a link each, without their accounts and links. */
async function addChains(count: number): Promise<void> {
  await domain.db.pool.query(
    `begin; set local session_replication_role = replica;
     insert into account_chain (account_id, pseudonym, length, head)
     select 'acc-' || n || random(), sha256(random()::text::bytea), 1, sha256(n::text::bytea) from generate_series(1, ${count}) n;
     commit`,
  );
}

/** The hash that an inclusion path leads to (RFC 9162, section 2.1.3.2). */
function rootOf(index: number, size: number, leaf: Buffer, path: readonly string[]): string {
  let [fn, sn, hash] = [index, size - 1, leaf];
  for (const text of path) {
    const each = Buffer.from(text, 'hex');
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(each, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else hash = nodeHash(hash, each);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return hash.toString('hex');
}

async function isSigned({ signature, ...unsigned }: RootDocument): Promise<boolean> {
  const { keys } = await keysDocument(domain);
  const key = keys.find(({ id }) => id === unsigned.key)!;
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key.publicKey, 'base64').toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(tagged(unsigned.type, unsigned)), publicKey, Buffer.from(signature, 'base64'));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function leafOf(accountId: string) {
  const proof = (await inclusionProof(domain, accountId))!;
  const { head, number, pseudonym } = proof;
  const leaf = leafHash(tagged('gpu-rental/leaf/v1', { head, number, pseudonym }));
  return { proof, leaf };
}

beforeEach(async () => {
  domain = await open();
  // Leaves out the demo account.
  await domain.db.pool.query('update account_chain set complete = false');
  return () => domain.close();
});

describe('the log', () => {
  test('has one leaf per account whose chain has grown, ordered by pseudonym', async () => {
    const accounts = await Promise.all([domain.account('10'), domain.account('10'), domain.account('10')]);
    await domain.account('0');
    const first = (await appendToLog(domain))!;
    expect(first).toMatchObject({ type: 'gpu-rental/root/v1', number: 1, size: 3, previous: null });
    await grow(accounts[1]!);
    await grow(accounts[1]!);
    const second = (await appendToLog(domain))!;
    expect(second).toMatchObject({ number: 2, size: 4, previous: sha256(canonical(first)) });
    const leaves = await Promise.all(accounts.map(leafOf));
    expect(leaves.map(({ proof }) => proof.number)).toEqual([1, 3, 1]);
    expect(leaves[1]!.proof.index).toBe(3);
    for (const { proof, leaf } of leaves) {
      expect(proof.root).toEqual(second);
      expect(rootOf(proof.index, 4, leaf, proof.path)).toBe(second.root);
    }
    const rows = await domain.db.pool.query(
      'select index, pseudonym from log_leaf join account_chain using (account_id) where index < 3 order by index',
    );
    const pseudonyms = rows.rows.map(({ pseudonym }) => pseudonym.toString('hex'));
    expect(pseudonyms).toEqual([...pseudonyms].sort());
    expect(await Promise.all([first, second].map(isSigned))).toEqual([true, true]);
    expect(await rootsAfter(domain, 0)).toEqual({ type: 'gpu-rental/roots/v1', roots: [first, second] });
    expect((await rootsAfter(domain, 1)).roots).toEqual([second]);
  });

  test('starts with an empty tree', async () => {
    const root = (await appendToLog(domain))!;
    expect(root).toMatchObject({ size: 0, root: sha256('') });
    expect(await isSigned(root)).toBe(true);
  });

  test('proves every leaf and every earlier root across tile borders', async () => {
    const account = await domain.account('10');
    for (const count of [200, 54, 1, 1, 255, 1, 300]) {
      await appendToLog(domain);
      await addChains(count);
    }
    await appendToLog(domain);
    const { proof, leaf } = await leafOf(account);
    expect(rootOf(proof.index, proof.root.size, leaf, proof.path)).toBe(proof.root.root);
    const { roots } = await rootsAfter(domain, 0);
    expect(roots.map(({ size }) => size)).toEqual([1, 201, 255, 256, 257, 512, 513, 813]);
    // Rebuilds the tree from the leaves, by the recursive definition.
    const { rows } = await domain.db.pool.query(
      `select head, length, pseudonym from log_leaf join account_chain using (account_id) order by index`,
    );
    const leaves = rows.map(({ head, length, pseudonym }) =>
      leafHash(
        tagged('gpu-rental/leaf/v1', {
          head: head.toString('hex'),
          number: Number(length),
          pseudonym: pseudonym.toString('hex'),
        }),
      ),
    );
    const naive = (from: number, to: number): Buffer => {
      if (to - from === 1) return leaves[from]!;
      let left = 1;
      while (left * 2 < to - from) left *= 2;
      return nodeHash(naive(from, from + left), naive(from + left, to));
    };
    for (const { size, root } of roots) expect(naive(0, size).toString('hex'), `${size}`).toBe(root);
    const tiles = await domain.db.pool.query(
      'select level, index, length(hashes) / 32 as hashes from log_tile order by 1, 2',
    );
    expect(tiles.rows.map(({ level, index, hashes }) => [level, Number(index), hashes])).toEqual([
      [0, 0, 256],
      [0, 1, 256],
      [0, 2, 256],
      [0, 3, 45],
      [1, 0, 3],
    ]);
    const { path } = await consistencyProof(domain, 256, 513);
    expect(path).toEqual([naive(256, 512), naive(512, 513)].map((hash) => hash.toString('hex')).slice(0, path.length));
  });

  test('proves the newest link within the given numbers', async () => {
    const account = await domain.account('10');
    await appendToLog(domain);
    await grow(account);
    await grow(account);
    await appendToLog(domain);
    const numberWithin = async (links: { from?: number; to?: number }) =>
      (await inclusionProof(domain, account, links))?.number;
    expect(await numberWithin({})).toBe(3);
    expect(await numberWithin({ to: 2 })).toBe(1);
    expect(await numberWithin({ from: 2, to: 2 })).toBeUndefined();
    expect(await numberWithin({ from: 3 })).toBe(3);
    expect(await inclusionProof(domain, 'acc-0000000000000000')).toBeNull();
  });

  test('leaves out a chain whose older entries are still being added', async () => {
    const account = await domain.account('10');
    await domain.db.pool.query('update account_chain set complete = false');
    expect(await appendToLog(domain)).toMatchObject({ size: 0 });
    expect(await inclusionProof(domain, account)).toBeNull();
  });

  test('keeps nothing of a root that fails', async () => {
    await domain.account('10');
    await domain.db.pool.query(`alter table log_root add check (number < 1)`);
    await expect(appendToLog(domain)).rejects.toThrow();
    const { rows } = await domain.db.pool.query('select from log_leaf union all select from log_tile');
    expect(rows).toHaveLength(0);
  });

  test('takes no earlier time than the last root if the clock is set back', async () => {
    const first = (await appendToLog(domain))!;
    domain.clock.advance(-3_600);
    expect(await appendToLog(domain)).toMatchObject({ number: 2, at: first.at });
  });
});

describe('a chain', () => {
  const sizeOfNext = async () => (await appendToLog(domain))?.size;

  test('is logged once if its transaction spans a root', async () => {
    const [slow, quick] = [await domain.account('10'), await domain.account('10')];
    expect(await sizeOfNext()).toBe(2);
    const client = await domain.db.pool.connect();
    await client.query('begin');
    await client.query(
      `insert into ledger_entry (id, account_id, kind, units, at) values ('slow', $1, 'CREDIT', 1, '2026-11-21')`,
      [slow],
    );
    // This transaction has a greater number.
    await grow(quick);
    expect(await sizeOfNext()).toBe(3);
    expect((await inclusionProof(domain, quick))?.number).toBe(2);
    await client.query('commit');
    client.release();
    expect(await sizeOfNext()).toBe(4);
    expect((await inclusionProof(domain, slow))?.number).toBe(2);
    expect(await sizeOfNext()).toBe(4);
  });

  test('is logged once it is complete, even if it does not grow then', async () => {
    const account = await domain.account('10');
    await domain.db.pool.query('update account_chain set complete = false');
    expect(await sizeOfNext()).toBe(0);
    await domain.db.pool.query('select chain_history($1, 10)', [account]);
    expect(await sizeOfNext()).toBe(1);
  });

  test.each([
    ['another cluster', 'cluster = 1'],
    ['a version without snapshots', 'snapshot = null, cluster = null'],
  ])('is logged once after a root of %s', async (_, change) => {
    const accounts = [await domain.account('10'), await domain.account('10')];
    expect(await sizeOfNext()).toBe(2);
    await grow(accounts[0]!);
    await domain.db.pool.query(`update account_chain set changed_in = '3'; update log_root set ${change}`);
    expect(await sizeOfNext()).toBe(3);
    expect(await sizeOfNext()).toBe(3);
  });

  test('is logged once if its row has a number of another cluster that is still to be used here', async () => {
    const accounts = [await domain.account('10'), await domain.account('10'), await domain.account('10')];
    expect(await sizeOfNext()).toBe(3);
    await domain.db.pool.query(`update account_chain set changed_in = '4000000000' where account_id = any($1)`, [
      accounts.slice(0, 2),
    ]);
    expect(await sizeOfNext()).toBe(3);
    await grow(accounts[1]!);
    await grow(accounts[2]!);
    expect(await sizeOfNext()).toBe(5);
    expect(await auditLog(domain)).toEqual([]);
  });
});

describe('the hourly root', () => {
  test('is made once per hour, and once for hours that were missed', async () => {
    domain.clock.set('2026-11-20T12:59:59Z');
    expect(await appendIfDue(domain)).toMatchObject({ number: 1, at: '2026-11-20T12:59:59Z' });
    expect(await appendIfDue(domain)).toBe('exists');
    domain.clock.advance(1);
    expect(await appendIfDue(domain)).toMatchObject({ number: 2, at: '2026-11-20T13:00:00Z' });
    domain.clock.advance(3_599);
    expect(await appendIfDue(domain)).toBe('exists');
    domain.clock.advance(5 * 3_600);
    expect(await appendIfDue(domain)).toMatchObject({ number: 3, size: 0 });
    expect(await appendIfDue(domain)).toBe('exists');
  });

  test('is made once by two gateways at the same time', async () => {
    await domain.account('10');
    const { connectionString } = domain.db.pool.options as { connectionString: string };
    const other = await open({ url: connectionString, clock: domain.clock });
    const made = await Promise.all(Array.from({ length: 10 }, (_, n) => appendIfDue(n % 2 === 0 ? domain : other)));
    await other.close();
    expect(made.filter((root) => typeof root !== 'string')).toHaveLength(1);
    expect((await rootsAfter(domain, 0)).roots).toHaveLength(1);
  });
});

describe('invalid input', () => {
  test.each([
    [-1, 0, 'first must be a tree size from 0 to second, 0; got -1'],
    [1, 0, 'first must be a tree size from 0 to second, 0; got 1'],
    [0, 2, "second must be a tree size from 0 to 1, the newest root's; got 2"],
    [0, 0.5, "second must be a tree size from 0 to 1, the newest root's; got 0.5"],
  ])('is refused for a consistency proof from %d to %d', async (first, second, message) => {
    await domain.account('10');
    await appendToLog(domain);
    await expect(consistencyProof(domain, first, second)).rejects.toThrow(message);
  });

  test.each([-1, 0.5, 2 ** 31])('is refused for roots after %d', async (after) => {
    await expect(rootsAfter(domain, after)).rejects.toMatchObject({ code: 'invalid_request', field: 'after' });
  });
});

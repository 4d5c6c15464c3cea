import { createCipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { keyOf, macOf, openObject, type ResticKey } from '../../src/domain/rules/restic-key.js';

/** An object of a restic repository; `config` has no name. */
export interface MadeObject {
  kind: 'config' | 'keys' | 'index' | 'data' | 'snapshots';
  name: string;
  bytes: Buffer;
}

/** Deriving a key with it takes a millisecond; what `restic init` chooses takes half a second per call of restic. */
const CHEAP = { N: 1_024, r: 8, p: 1 };
/** Irreducible, as restic requires. */
const POLYNOMIAL = '3da3358b4dc173';

export interface EmptyRepository {
  master: ResticKey;
  /** In the order in which restic writes them. */
  objects: MadeObject[];
}

/** An empty repository that restic opens with the password at little cost. */
export function emptyRepository(password: string): EmptyRepository {
  const master = keyOf(randomBytes(64));
  const config = seal(master, { version: 2, id: randomBytes(32).toString('hex'), chunker_polynomial: POLYNOMIAL });
  const key = keyFile(password, master);
  return { master, objects: [object('keys', key), { kind: 'config', name: '', bytes: config }] };
}

/** The file of a key that opens the repository with the password. */
export function keyFile(password: string, master: ResticKey, cost = CHEAP): Buffer {
  const salt = randomBytes(64);
  const user = keyOf(scryptSync(password, salt, 64, cost));
  const mac = { k: master.k.toString('base64'), r: master.r.toString('base64') };
  const data = seal(user, { mac, encrypt: master.encrypt.toString('base64') }).toString('base64');
  const head = { created: '2026-01-01T00:00:00Z', username: 'test', hostname: 'test', kdf: 'scrypt' };
  return Buffer.from(JSON.stringify({ ...head, ...cost, salt: salt.toString('base64'), data }));
}

/** The master key, as everyone has it who knows the password. */
export function masterOf(file: Buffer, password: string): ResticKey {
  const { N, r, p, salt, data } = JSON.parse(file.toString());
  const user = keyOf(scryptSync(password, Buffer.from(salt, 'base64'), 64, { N, r, p, maxmem: 2 ** 28 }));
  const { mac, encrypt } = JSON.parse(openObject(user, Buffer.from(data, 'base64'))!.toString());
  const [k, factor, cipher] = [mac.k, mac.r, encrypt].map((each: string) => Buffer.from(each, 'base64'));
  return { encrypt: cipher!, k: k!, r: factor! };
}

export function seal(key: ResticKey, content: object | Buffer): Buffer {
  const nonce = randomBytes(16);
  const plain = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  const text = createCipheriv('aes-256-ctr', key.encrypt, nonce).update(plain);
  return Buffer.concat([nonce, text, macOf(key, nonce, text)]);
}

export function object(kind: 'keys' | 'index' | 'data' | 'snapshots', bytes: Buffer): MadeObject {
  return { kind, name: createHash('sha256').update(bytes).digest('hex'), bytes };
}

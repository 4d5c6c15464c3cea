import { createCipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { keyOf, macOf, openObject, type ResticKey } from '../../src/domain/volumes/rules/restic-key.js';

/** An object of a restic repository. `config` has no name. */
export interface MadeObject {
  kind: 'config' | 'keys' | 'index' | 'data' | 'snapshots';
  name: string;
  bytes: Buffer;
}

/** Deriving a key takes a millisecond with these parameters, but half a second with those of `restic init`. */
const CHEAP = { N: 1_024, r: 8, p: 1 };
/** A polynomial that is irreducible, as restic requires. */
const POLYNOMIAL = '3da3358b4dc173';

export interface EmptyRepository {
  master: ResticKey;
  /** The objects in the order in which restic writes them. */
  objects: MadeObject[];
}

/** Creates an empty repository that restic can open cheaply with the password. */
export function emptyRepository(password: string): EmptyRepository {
  const master = keyOf(randomBytes(64));
  const config = seal(master, { version: 2, id: randomBytes(32).toString('hex'), chunker_polynomial: POLYNOMIAL });
  const key = keyFile(password, master);
  return { master, objects: [object('keys', key), { kind: 'config', name: '', bytes: config }] };
}

/** Returns the key file with which the password opens the repository. */
export function keyFile(password: string, master: ResticKey, cost = CHEAP): Buffer {
  const salt = randomBytes(64);
  const user = keyOf(scryptSync(password, salt, 64, cost));
  const mac = { k: master.k.toString('base64'), r: master.r.toString('base64') };
  const data = seal(user, { mac, encrypt: master.encrypt.toString('base64') }).toString('base64');
  const head = { created: '2026-01-01T00:00:00Z', username: 'test', hostname: 'test', kdf: 'scrypt' };
  return Buffer.from(JSON.stringify({ ...head, ...cost, salt: salt.toString('base64'), data }));
}

/** Returns the master key, as anyone with the password can. */
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
  return { kind, name: hashOf(bytes), bytes };
}

/** A blob in a pack with its entries in the header and the index, which are equal unless a host lies. */
export interface PackedBlob {
  type: 'data' | 'tree';
  content: Buffer;
  headerId?: string;
  indexId?: string;
}

/** Returns a pack of these blobs and the index entry that names it. */
export function packOf(master: ResticKey, blobs: readonly PackedBlob[]) {
  const sealed = blobs.map(({ content }) => seal(master, content));
  const ids = blobs.map(({ content }) => hashOf(content));
  const header = blobs.map(({ type, headerId }, index) => {
    const entry = Buffer.alloc(37);
    entry.writeUInt8(type === 'data' ? 0 : 1);
    entry.writeUInt32LE(sealed[index]!.length, 1);
    Buffer.from(headerId ?? ids[index]!, 'hex').copy(entry, 5);
    return entry;
  });
  const head = seal(master, Buffer.concat(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  const pack = object('data', Buffer.concat([...sealed, head, length]));
  let end = 0;
  const entries = blobs.map(({ type, indexId }, index) => {
    const offset = end;
    end += sealed[index]!.length;
    return { id: indexId ?? ids[index]!, type, offset, length: sealed[index]!.length };
  });
  return { pack, entry: { id: pack.name, blobs: entries } };
}

/**
 * Returns the uploads of a lying host: a sound snapshot of one small file, and an index which claims that the file's
 * pack also contains these data blobs. Restic's prune then prefers that pack. `header` is what the pack's own header
 * says.
 */
export function lyingObjects(master: ResticKey, held: readonly string[], header: 'lies' | 'is true'): MadeObject[] {
  const file = randomBytes(100);
  const time = '2026-01-01T00:00:00Z';
  const node = {
    name: 'file',
    type: 'file',
    mode: 420,
    mtime: time,
    atime: time,
    ctime: time,
    uid: 0,
    gid: 0,
    size: 100,
  };
  const tree = Buffer.from(`${JSON.stringify({ nodes: [{ ...node, content: [hashOf(file)] }] })}\n`);
  const worthless = held.map((indexId): PackedBlob => {
    return { type: 'data', content: randomBytes(10), indexId, ...(header === 'lies' && { headerId: indexId }) };
  });
  const data = packOf(master, [{ type: 'data', content: file }, ...worthless]);
  const trees = packOf(master, [{ type: 'tree', content: tree }]);
  const snapshot = { time, tree: hashOf(tree), paths: ['/mnt'], hostname: 'volume', username: 'root' };
  return [
    data.pack,
    trees.pack,
    object('index', seal(master, { packs: [data.entry, trees.entry] })),
    object('snapshots', seal(master, snapshot)),
  ];
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

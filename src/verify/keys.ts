import { bytesOfBase64, hashOfBytes, tagged, verifySignature } from './crypto.js';
import type { Findings } from './findings.js';
import { canonical, type Json } from './json.js';
import type { Key, Keys } from './shapes.js';

/** A document with the file that contains it. */
export interface Given<Document> {
  file: string;
  /** Path of the document within the file's document; empty if it isn't contained in another one. */
  where: string;
  document: Document;
}

interface Signed {
  readonly type: string;
  readonly key: string;
  readonly signature: string;
}

/** The signing keys of the service. */
export class KeyRing {
  readonly #findings: Findings;
  readonly #keys = new Map<string, Key>();

  constructor(findings: Findings, given: readonly Given<Keys>[]) {
    this.#findings = findings;
    for (const each of given) this.#checkHistory(each);
    const longest = given.toSorted((a, b) => b.document.keys.length - a.document.keys.length)[0];
    if (longest === undefined) return;
    for (const each of given) this.#compare(each, longest);
    for (const key of longest.document.keys) this.#keys.set(key.id, key);
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Checks a document's signature, and that its time is within the period of its key. */
  checkSignature(file: string, where: string, signed: Signed & Json, time: { name: string; at: string }): void {
    const prefix = where === '' ? '' : `${where}.`;
    const { signature, ...content } = signed as Signed & Record<string, Json>;
    const key = this.#keys.get(signed.key);
    if (key === undefined) {
      const reason = this.size === 0 ? 'no keys were given' : `key ${signed.key} was never published`;
      return void this.#findings.skip(file, `${prefix}signature`, `can't be checked: ${reason}`);
    }
    if (!verifies(key, tagged(signed.type, content), signature)) {
      this.#findings.fault('signature', file, `${prefix}signature`, `doesn't verify with key ${key.id}`);
    }
    if (time.at < key.from || (key.until !== null && time.at >= key.until)) {
      const period = `from ${key.from} until ${key.until ?? 'now'}`;
      const what = `is ${time.at}, but key ${key.id} signs only ${period}`;
      this.#findings.fault('signature', file, prefix + time.name, what);
    }
  }

  #checkHistory({ file, document: { keys } }: Given<Keys>): void {
    const fault = (where: string, what: string) => this.#findings.fault('keys', file, where, what);
    const ids = new Set<string>();
    keys.forEach((key, index) => {
      const where = `keys[${index}]`;
      const previous = keys[index - 1];
      const next = keys[index + 1];
      const id = hashOfBytes(bytesOfBase64(key.publicKey) as Uint8Array).slice(0, 16);
      if (key.id !== id) fault(`${where}.id`, `is ${key.id}, but the public key has the id ${id}`);
      if (ids.has(key.id)) fault(`${where}.id`, `repeats ${key.id}`);
      ids.add(key.id);
      if (key.previous !== (previous?.id ?? null)) {
        fault(`${where}.previous`, `is ${key.previous}, but the key before it is ${previous?.id ?? null}`);
      }
      if (key.until !== (next?.from ?? null)) {
        fault(`${where}.until`, `is ${key.until}, but the next key signs from ${next?.from ?? null}`);
      }
      if (key.until !== null && key.until < key.from) fault(`${where}.until`, `is before ${key.from}`);
      if (previous === undefined) {
        if (key.endorsement !== null) fault(`${where}.endorsement`, 'must be null, because no key precedes the first');
      } else if (key.endorsement === null) {
        fault(`${where}.endorsement`, 'is null');
      } else if (!verifies(previous, endorsed(key), key.endorsement)) {
        fault(`${where}.endorsement`, `doesn't verify with key ${previous.id}`);
      }
    });
  }

  /** Checks that the shorter history is the start of the longer one, except that its newest key may end there. */
  #compare(shorter: Given<Keys>, longer: Given<Keys>): void {
    shorter.document.keys.forEach((key, index) => {
      const other = longer.document.keys[index] as Key;
      const isNewest = index === shorter.document.keys.length - 1;
      const until = isNewest && key.until === null ? other.until : key.until;
      if (canonical({ ...key, until }) === canonical(other)) return;
      this.#findings.fault('keys', shorter.file, `keys[${index}]`, `differs from the same key in ${longer.file}`);
    });
  }
}

function endorsed({ from, id, previous, publicKey }: Key): string {
  return tagged('gpu-rental/key/v1', { from, id, previous, publicKey });
}

function verifies({ publicKey }: Key, text: string, signature: string): boolean {
  return verifySignature(bytesOfBase64(publicKey) as Uint8Array, text, bytesOfBase64(signature) as Uint8Array);
}

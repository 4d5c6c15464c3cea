/** Many small tables: one of millions would stand still while it grows. */
const TABLES = 512;
const FIRST_SLOTS = 64;
const ARENA_BYTES = 1_048_576;
/** Before the bytes of an id: how many there are. */
const HEAD_BYTES = 4;

/** The places of the ids whose hash leads here; 0 for none. Of 2^k slots half are used at most. */
interface Table {
  slots: Float64Array;
  used: number;
}

/**
 * Ids of listings, exact, in buffers that are not looked through for garbage.
 */
export class SeenIds {
  readonly #tables: Table[] = Array.from({ length: TABLES }, () => ({ slots: new Float64Array(FIRST_SLOTS), used: 0 }));
  /** The ids, one behind the other; an id is whole in one piece. */
  readonly #arena: Buffer[] = [];
  #end = ARENA_BYTES;

  /** False for an id that was added before. */
  add(id: string): boolean {
    const bytes = Buffer.from(id);
    const hash = hashOf(bytes);
    const table = this.#tables[hash % TABLES]!;
    if (table.used * 2 >= table.slots.length) this.#grow(table);
    const slot = this.#slotOf(table.slots, bytes, hash);
    if (table.slots[slot] !== 0) return false;
    table.slots[slot] = this.#put(bytes);
    table.used += 1;
    return true;
  }

  /** The slot that has the id, or the free one where it belongs. */
  #slotOf(slots: Float64Array, bytes: Buffer, hash: number): number {
    const mask = slots.length - 1;
    for (let slot = Math.floor(hash / TABLES) & mask; ; slot = (slot + 1) & mask) {
      const place = slots[slot]!;
      if (place === 0 || this.#at(place).equals(bytes)) return slot;
    }
  }

  #grow(table: Table): void {
    const grown = new Float64Array(table.slots.length * 2);
    for (const place of table.slots) {
      if (place === 0) continue;
      const bytes = this.#at(place);
      grown[this.#slotOf(grown, bytes, hashOf(bytes))] = place;
    }
    table.slots = grown;
  }

  /** A place is 1 + piece × ARENA_BYTES + offset. */
  #put(bytes: Buffer): number {
    const size = HEAD_BYTES + bytes.length;
    if (this.#end + size > ARENA_BYTES) {
      this.#arena.push(Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, size)));
      this.#end = 0;
    }
    const piece = this.#arena.at(-1)!;
    piece.writeUInt32LE(bytes.length, this.#end);
    bytes.copy(piece, this.#end + HEAD_BYTES);
    const place = 1 + (this.#arena.length - 1) * ARENA_BYTES + this.#end;
    this.#end += size;
    return place;
  }

  #at(place: number): Buffer {
    const piece = this.#arena[Math.floor((place - 1) / ARENA_BYTES)]!;
    const start = (place - 1) % ARENA_BYTES;
    return piece.subarray(start + HEAD_BYTES, start + HEAD_BYTES + piece.readUInt32LE(start));
  }
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/**
 * Number of hash tables. There are many small ones, because growing a single table of millions of ids would block the
 * process.
 */
const TABLES = 512;
const FIRST_SLOTS = 64;
const ARENA_BYTES = 1_048_576;
/**
 * Marks a long id. A short id is preceded by its length in one byte, and a long id by this marker and a four-byte
 * length.
 */
const LONG = 255;
const SHORT_HEAD_BYTES = 1;
const LONG_HEAD_BYTES = 5;
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const MAX_UTF8 = 3;
const FIRST_BYTES = 1_024;

/**
 * Maximum number of arena pieces, chosen so that positions fit into 32 bits. With two million ids, four more bytes per
 * position would account for half of the memory used.
 */
const MAX_PIECES = 4_095;

/**
 * The positions of ids, by hash. Free slots contain 0. The number of slots is a power of two, and at most seven eighths
 * are used.
 */
interface Table {
  slots: Uint32Array<ArrayBuffer>;
  used: number;
}

/** The bytes of an id within a buffer. */
interface Span {
  buffer: Buffer;
  start: number;
  end: number;
}

/**
 * An exact set of listing ids. The ids are kept in buffers that the garbage collector doesn't scan, and lookups don't
 * allocate.
 */
export class SeenIds {
  readonly #tables: Table[] = Array.from({ length: TABLES }, () => ({ slots: new Uint32Array(FIRST_SLOTS), used: 0 }));
  /** The stored ids, back to back. An id is never split across two pieces. */
  readonly #arena: Buffer[] = [];
  #end = ARENA_BYTES;
  /** The id being looked up. */
  readonly #wanted: Span = { buffer: Buffer.allocUnsafeSlow(FIRST_BYTES), start: 0, end: 0 };
  /** The stored id it is compared with. */
  readonly #known: Span = { buffer: this.#wanted.buffer, start: 0, end: 0 };

  /** Adds an id. Returns false if the set already contains it. */
  add(id: string): boolean {
    const wanted = this.#wanted;
    if (id.length * MAX_UTF8 > wanted.buffer.length) wanted.buffer = Buffer.allocUnsafeSlow(id.length * MAX_UTF8);
    wanted.end = wanted.buffer.write(id);
    const hash = hashOf(wanted);
    const table = this.#tables[hash % TABLES]!;
    if (table.used * 8 >= table.slots.length * 7) this.#grow(table);
    const slot = this.#slotOf(table.slots, wanted, hash);
    if (table.slots[slot] !== 0) return false;
    table.slots[slot] = this.#put(wanted);
    table.used += 1;
    return true;
  }

  /** Returns the id's slot, or a free slot for it. */
  #slotOf(slots: Uint32Array, { buffer, start, end }: Span, hash: number): number {
    const mask = slots.length - 1;
    for (let slot = Math.floor(hash / TABLES) & mask; ; slot = (slot + 1) & mask) {
      const place = slots[slot]!;
      if (place === 0) return slot;
      const known = this.#at(place);
      if (known.buffer.compare(buffer, start, end, known.start, known.end) === 0) return slot;
    }
  }

  #grow(table: Table): void {
    const grown = new Uint32Array(table.slots.length * 2);
    const mask = grown.length - 1;
    for (const place of table.slots) {
      if (place === 0) continue;
      let slot = Math.floor(hashOf(this.#at(place)) / TABLES) & mask;
      // No comparison is needed, because all ids are distinct.
      while (grown[slot] !== 0) slot = (slot + 1) & mask;
      grown[slot] = place;
    }
    table.slots = grown;
  }

  /** Stores an id and returns its position, which is 1 + piece × ARENA_BYTES + offset. */
  #put({ buffer, end: length }: Span): number {
    const isLong = length >= LONG;
    const head = isLong ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES;
    const size = head + length;
    if (this.#end + size > ARENA_BYTES) {
      if (this.#arena.length === MAX_PIECES) throw new RangeError('more than 4 GB of ids');
      this.#arena.push(Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, size)));
      this.#end = 0;
    }
    const piece = this.#arena.at(-1)!;
    piece[this.#end] = isLong ? LONG : length;
    if (isLong) piece.writeUInt32LE(length, this.#end + 1);
    buffer.copy(piece, this.#end + head, 0, length);
    const place = 1 + (this.#arena.length - 1) * ARENA_BYTES + this.#end;
    this.#end += size;
    return place;
  }

  /** Returns the id at a position. The result is valid only until the next call. */
  #at(place: number): Span {
    const known = this.#known;
    known.buffer = this.#arena[Math.floor((place - 1) / ARENA_BYTES)]!;
    const offset = (place - 1) % ARENA_BYTES;
    const isLong = known.buffer[offset] === LONG;
    const length = isLong ? known.buffer.readUInt32LE(offset + 1) : known.buffer[offset]!;
    known.start = offset + (isLong ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES);
    known.end = known.start + length;
    return known;
  }
}

/** Computes the 32-bit FNV-1a hash. */
function hashOf({ buffer, start, end }: Span): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index += 1) hash = Math.imul(hash ^ buffer[index]!, 0x01000193);
  return hash >>> 0;
}

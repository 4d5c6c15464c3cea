/** SFTP version 3 as implemented by OpenSSH (draft-ietf-secsh-filexfer-02). */
export const REQUEST = {
  init: 1,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  extended: 200,
} as const;
const ANSWER = { version: 2, status: 101, handle: 102, data: 103, name: 104, attrs: 105, extended: 201 } as const;
export const STATUS = { ok: 0, eof: 1, noSuchFile: 2, denied: 3, failure: 4, badMessage: 5, unsupported: 8 } as const;
/** The bits of an open request. */
export const OPEN = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const;
const ATTR = { size: 1, owner: 2, permissions: 4, times: 8 } as const;
/** Maximum packet size, the same as OpenSSH's. The protocol lets a client send at least 32 kB of data per request. */
export const MAX_PACKET_BYTES = 262_144;
/** Maximum length of an error message. */
const MAX_MESSAGE = 300;
/** Latest time that version 3 can represent with its 32-bit seconds. */
const MAX_TIME = 2 ** 32 - 1;

/** File attributes, with times in seconds since 1970. */
export interface Attributes {
  size?: bigint;
  owner?: { uid: number; gid: number };
  /** In packets from a server, the upper bits contain the file type. */
  mode?: number;
  times?: { accessed: number; modified: number };
}

export interface Entry {
  /** The name, with one character per byte. */
  name: string;
  attributes: Attributes;
}

/** An error to send to the client. */
export class SftpFault extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Reads a packet's fields in sequence. */
export class Packet {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  byte(): number {
    return this.#take(1).readUInt8(0);
  }

  number(): number {
    return this.#take(4).readUInt32BE(0);
  }

  long(): bigint {
    return this.#take(8).readBigUInt64BE(0);
  }

  data(): Buffer {
    return this.#take(this.number());
  }

  /** Reads a string with one character per byte, because names may not be valid text. */
  text(): string {
    return this.data().toString('latin1');
  }

  attributes(): Attributes {
    const flags = this.number();
    const read: Attributes = {};
    if (flags & ATTR.size) read.size = this.long();
    if (flags & ATTR.owner) read.owner = { uid: this.number(), gid: this.number() };
    if (flags & ATTR.permissions) read.mode = this.number();
    if (flags & ATTR.times) read.times = { accessed: this.number(), modified: this.number() };
    return read;
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.bytes.length) throw new SftpFault(STATUS.badMessage, 'the packet is too short');
    const taken = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

export const answers = {
  version: (extensions: Readonly<Record<string, string>>): Buffer =>
    packet(
      ANSWER.version,
      number(3),
      ...Object.entries(extensions).flatMap(([name, value]) => [text(name), text(value)]),
    ),
  status: (id: number, status: number, message: string): Buffer =>
    packet(ANSWER.status, number(id), number(status), text(message.slice(0, MAX_MESSAGE)), text('')),
  handle: (id: number, handle: number): Buffer => packet(ANSWER.handle, number(id), data(number(handle))),
  data: (id: number, bytes: Buffer): Buffer => packet(ANSWER.data, number(id), data(bytes)),
  names: (id: number, entries: readonly Entry[]): Buffer =>
    packet(
      ANSWER.name,
      number(id),
      number(entries.length),
      ...entries.flatMap((entry) => [name(entry.name), name(longName(entry)), attributes(entry.attributes)]),
    ),
  attributes: (id: number, of: Attributes): Buffer => packet(ANSWER.attrs, number(id), attributes(of)),
  /** The response to an extension request, which consists of 64-bit numbers. */
  numbers: (id: number, values: readonly bigint[]): Buffer => packet(ANSWER.extended, number(id), ...values.map(long)),
};

function packet(type: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from([type]), ...parts]);
  return Buffer.concat([number(body.length), body]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

function data(bytes: Buffer): Buffer {
  return Buffer.concat([number(bytes.length), bytes]);
}

function text(value: string): Buffer {
  return data(Buffer.from(value, 'utf8'));
}

/** Encodes a name that has one character per byte. */
function name(value: string): Buffer {
  return data(Buffer.from(value, 'latin1'));
}

function attributes({ size, owner, mode, times }: Attributes): Buffer {
  const flags =
    (size === undefined ? 0 : ATTR.size) |
    (owner === undefined ? 0 : ATTR.owner) |
    (mode === undefined ? 0 : ATTR.permissions) |
    (times === undefined ? 0 : ATTR.times);
  return Buffer.concat([
    number(flags),
    ...(size === undefined ? [] : [long(size)]),
    ...(owner === undefined ? [] : [number(owner.uid), number(owner.gid)]),
    ...(mode === undefined ? [] : [number(mode)]),
    ...(times === undefined ? [] : [number(timeOf(times.accessed)), number(timeOf(times.modified))]),
  ]);
}

function timeOf(seconds: number): number {
  return Math.min(Math.max(seconds, 0), MAX_TIME);
}

const TYPE_LETTERS: Readonly<Record<number, string>> = { 1: 'p', 2: 'c', 4: 'd', 6: 'b', 8: '-', 10: 'l', 12: 's' };

/** Formats an entry in the style of `ls -l`, because clients print it unchanged. */
function longName({ name, attributes: { mode = 0, size = 0n, owner, times } }: Entry): string {
  const letters = [...'rwxrwxrwx'].map((letter, bit) => (mode & (1 << (8 - bit)) ? letter : '-')).join('');
  const type = TYPE_LETTERS[mode >> 12] ?? '-';
  const when = new Date(timeOf(times?.modified ?? 0) * 1_000).toISOString().slice(0, 16).replace('T', ' ');
  const { uid = 0, gid = 0 } = owner ?? {};
  return `${type}${letters} 1 ${String(uid).padEnd(8)} ${String(gid).padEnd(8)} ${String(size).padStart(8)} ${when} ${name}`;
}

import type { ServerChannel } from 'ssh2';
import type { ExecTarget } from '../../agent-protocol/tunnel-protocol.js';
import { ByteQueue } from '../../std/untrusted/byte-queue.js';
import { LastBytes, lastLine } from '../../std/untrusted/last-line.js';
import { turn } from '../../std/untrusted/turn.js';
import { nameIt } from '../files/name-it.js';
import { firstLine } from '../first-line.js';
import type { Tunnel } from '../tunnels.js';
import { type Connected, openCommand, withTunnel } from './command.js';
import { firstEvent } from './first-event.js';
import { guard, joinCommand } from './join.js';
import {
  type Attributes,
  answers,
  type Entry,
  MAX_PACKET_BYTES,
  OPEN,
  Packet,
  REQUEST,
  SftpFault,
  STATUS,
} from './sftp-packets.js';
import { type Listing, quote, SftpShell } from './sftp-shell.js';

/**
 * Prints S and starts the image's own server if there is one. Otherwise, prints N and starts a shell that reads
 * commands.
 */
const FIND = `for p in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server /usr/libexec/sftp-server /usr/libexec/ssh/sftp-server; do if [ -x "$p" ]; then echo S; exec "$p"; fi; done; echo N; exec /bin/sh`;
const MAX_HANDLES = 1_024;
/**
 * Maximum number of files that have their own command or buffer. The least recently used ones are suspended and resume
 * when they are used again.
 */
const MAX_ACTIVE_FILES = 32;
/** Maximum number of bytes per read or write. */
const MAX_DATA_BYTES = MAX_PACKET_BYTES - 1_024;
const EXTENSIONS = {
  'posix-rename@openssh.com': '1',
  'statvfs@openssh.com': '2',
  'fstatvfs@openssh.com': '2',
  'hardlink@openssh.com': '1',
  'fsync@openssh.com': '1',
  'lsetstat@openssh.com': '1',
  'limits@openssh.com': '1',
  'expand-path@openssh.com': '1',
  'copy-data': '1',
} as const;
/**
 * Preferred and fundamental block size, total blocks, free blocks, blocks available to users, inodes, free inodes, file
 * system id and maximum name length.
 */
const STAT_FS = '%s %S %b %f %a %c %d %i %l';
const FILE_SYSTEM = /^((?:\d{1,19} ){7})([\da-f]{1,16}) (\d{1,6})$/;
/** Matches the user in a path such as `~user`. */
const USER = /^~([A-Za-z_][A-Za-z0-9_.-]{0,31})?(?:\/|$)/;
const IS_MISSING = `echo 'No such file'; false`;
/** Maximum size of a file that is read in one piece. */
const SMALL_BYTES = 262_144n;
const NAMES_PER_ANSWER = 100;
/** Number of lines of a folder to read before yielding to other work. */
const LINES_PER_TURN = 500;
/** Maximum number of bytes of folders and small files that are kept in memory per connection. */
const MAX_KEPT_BYTES = 33_554_432;

/**
 * Serves SFTP, and scp over SFTP. Uses the image's own server if there is one, and otherwise ours, which uses a shell
 * inside the container.
 */
export async function serveSftp(channel: ServerChannel, connected: Connected): Promise<void> {
  const target = shellCommand(`exec /bin/sh -c ${quote(FIND)}`);
  await withTunnel(channel, connected, target, async (tunnel) => {
    const [mode, rest] = await firstLine(tunnel);
    if (rest.length > 0) tunnel.unshift(rest);
    if (mode === 'S') return joinCommand(channel, tunnel, connected.socket);
    const server = new SftpServer(new SftpShell(tunnel), connected);
    guard(channel, connected.socket);
    channel.once('close', () => tunnel.destroy());
    try {
      await server.serve(channel);
    } finally {
      await server.end();
      tunnel.end('exit 0\n');
    }
    if (!tunnel.destroyed) await firstEvent(tunnel, 'close');
  });
}

function shellCommand(command: string): ExecTarget {
  return { kind: 'exec', command, argv: null, env: {}, terminal: null };
}

interface Folder {
  kind: 'folder';
  listing: Listing;
}

interface OpenFile {
  kind: 'file';
  path: string;
  flags: number;
  /** Content of a small file that hasn't been read yet. Null for any other file. */
  small: Buffer | null;
  reader: { tunnel: Tunnel; at: bigint; left: ByteQueue } | null;
  writer: { tunnel: Tunnel; at: bigint; failure: Promise<string | null> } | null;
  /** Write error detected when the file was suspended. It is reported when the client uses the file again. */
  fault: SftpFault | null;
}

interface Copy {
  from: OpenFile;
  start: bigint;
  length: bigint;
  to: OpenFile;
  at: bigint;
}

/**
 * Serves requests sequentially. A file's bytes pass through a dedicated command (cat). Clients that read or write
 * sequentially need only one command per file, but each seek needs another.
 */
class SftpServer {
  readonly #shell: SftpShell;
  readonly #connected: Connected;
  readonly #handles = new Map<number, OpenFile | Folder>();
  /** Active files, least recently used first. */
  readonly #active = new Set<OpenFile>();
  #lastHandle = 0;
  #home = '/';
  #umask = 0o022;

  constructor(shell: SftpShell, connected: Connected) {
    this.#shell = shell;
    this.#connected = connected;
  }

  async serve(channel: ServerChannel): Promise<void> {
    this.#home = (await this.#shell.run('pwd')).toString('latin1').replace(/\n$/, '');
    const umask = (await this.#shell.run('umask')).toString('latin1').trim();
    if (/^[0-7]{1,4}$/.test(umask)) this.#umask = Number.parseInt(umask, 8);
    const pending = new ByteQueue();
    // The channel still has to receive the exit code.
    for await (const chunk of channel.iterator({ destroyOnReturn: false })) {
      pending.push(chunk as Buffer);
      while (pending.length >= 4) {
        const length = pending.peek().readUInt32BE(0);
        if (length > MAX_PACKET_BYTES + 1_024 || length === 0)
          throw new SftpFault(STATUS.badMessage, 'this is not an SFTP packet');
        if (pending.length < 4 + length) break;
        const packet = new Packet(pending.take(4 + length).subarray(4));
        await this.#send(channel, await this.#answer(packet));
      }
    }
  }

  /** Ends all open tunnels. */
  async end(): Promise<void> {
    for (const handle of this.#handles.values()) {
      if (handle.kind !== 'file') continue;
      handle.reader?.tunnel.destroy();
      handle.writer?.tunnel.destroy();
    }
    this.#handles.clear();
    this.#active.clear();
  }

  async #send(channel: ServerChannel, answer: Buffer): Promise<void> {
    const { socket } = this.#connected;
    await new Promise<void>((resolve) => {
      channel.once('close', resolve);
      channel.write(answer, () => {
        channel.off('close', resolve);
        resolve();
      });
    });
    if (socket.writableNeedDrain && !socket.destroyed) await firstEvent(socket, 'drain', 'close');
  }

  async #answer(packet: Packet): Promise<Buffer> {
    const type = packet.byte();
    if (type === REQUEST.init) return answers.version(EXTENSIONS);
    const id = packet.number();
    try {
      return await this.#do(type, id, packet);
    } catch (error) {
      if (error instanceof SftpFault) return answers.status(id, error.status, error.message);
      return answers.status(id, STATUS.failure, (error as Error).message);
    }
  }

  async #do(type: number, id: number, packet: Packet): Promise<Buffer> {
    const done = () => answers.status(id, STATUS.ok, '');
    const path = () => this.#resolve(packet.text());
    switch (type) {
      case REQUEST.realpath:
        return answers.names(id, [{ name: await this.#realPath(path()), attributes: {} }]);
      case REQUEST.stat:
        return answers.attributes(id, await this.#shell.stat(path(), true));
      case REQUEST.lstat:
        return answers.attributes(id, await this.#shell.stat(path(), false));
      case REQUEST.fstat: {
        const file = this.#file(packet);
        await this.#flush(file);
        return answers.attributes(id, await this.#shell.stat(file.path, true));
      }
      case REQUEST.setstat:
        await this.#setAttributes(path(), packet.attributes(), true);
        return done();
      case REQUEST.fsetstat: {
        const file = this.#file(packet);
        await this.#flush(file);
        await this.#setAttributes(file.path, packet.attributes(), true);
        return done();
      }
      case REQUEST.open:
        return answers.handle(id, await this.#open(path(), packet.number(), packet.attributes()));
      case REQUEST.close:
        await this.#close(packet);
        return done();
      case REQUEST.read: {
        const file = this.#file(packet);
        const bytes = await this.#read(file, packet.long(), Math.min(packet.number(), MAX_DATA_BYTES));
        return bytes.length > 0 ? answers.data(id, bytes) : answers.status(id, STATUS.eof, 'end of file');
      }
      case REQUEST.write:
        await this.#write(this.#file(packet), packet.long(), packet.data());
        return done();
      case REQUEST.opendir: {
        const listing = await this.#shell.list(path());
        if (this.#keptBytes() + listing.bytes > MAX_KEPT_BYTES)
          throw new SftpFault(STATUS.failure, 'open files and folders use too much memory; close one first');
        return answers.handle(id, this.#keep({ kind: 'folder', listing }));
      }
      case REQUEST.readdir: {
        const folder = this.#handles.get(packet.data().readUInt32BE(0));
        if (folder?.kind !== 'folder') throw new SftpFault(STATUS.failure, 'no such handle');
        const entries = await nextEntries(folder.listing);
        return entries.length > 0 ? answers.names(id, entries) : answers.status(id, STATUS.eof, 'no more');
      }
      case REQUEST.remove: {
        const file = quote(path());
        await this.#shell.run(`if ${isThere(file)}; then rm -f -- ${file}; else ${IS_MISSING}; fi`);
        return done();
      }
      case REQUEST.mkdir: {
        const folder = path();
        const { mode } = packet.attributes();
        const modeOption = mode === undefined ? '' : `-m ${octal(mode & ~this.#umask)} `;
        await this.#shell.run(`mkdir ${modeOption}-- ${quote(folder)}`);
        return done();
      }
      case REQUEST.rmdir:
        await this.#shell.run(`rmdir -- ${quote(path())}`);
        return done();
      case REQUEST.rename:
        await this.#rename(path(), path(), false);
        return done();
      case REQUEST.readlink: {
        const name = (await this.#shell.run(`readlink -- ${quote(path())}`)).toString('latin1').replace(/\n$/, '');
        return answers.names(id, [{ name, attributes: {} }]);
      }
      case REQUEST.symlink: {
        // The arguments are in OpenSSH's order, which differs from the draft's.
        const target = packet.text();
        await this.#link('ln -s', quote(target), quote(path()));
        return done();
      }
      case REQUEST.extended:
        return (await this.#extended(packet.text(), id, packet)) ?? done();
      default:
        throw new SftpFault(STATUS.unsupported, 'not supported');
    }
  }

  /** Handles an extension request. Returns its response, or null if it only has to report success. */
  async #extended(name: string, id: number, packet: Packet): Promise<Buffer | null> {
    const path = () => this.#resolve(packet.text());
    switch (name as keyof typeof EXTENSIONS) {
      case 'posix-rename@openssh.com':
        await this.#rename(path(), path(), true);
        return null;
      case 'hardlink@openssh.com':
        await this.#link('ln', quote(path()), quote(path()));
        return null;
      case 'fsync@openssh.com':
        await this.#flush(this.#file(packet));
        return null;
      case 'lsetstat@openssh.com':
        await this.#setAttributes(path(), packet.attributes(), false);
        return null;
      case 'statvfs@openssh.com':
        return answers.numbers(id, await this.#fileSystem(path()));
      case 'fstatvfs@openssh.com':
        return answers.numbers(id, await this.#fileSystem(this.#file(packet).path));
      case 'limits@openssh.com':
        return answers.numbers(id, [MAX_PACKET_BYTES, MAX_DATA_BYTES, MAX_DATA_BYTES, MAX_HANDLES].map(BigInt));
      case 'expand-path@openssh.com':
        return answers.names(id, [{ name: await this.#expand(packet.text()), attributes: {} }]);
      case 'copy-data': {
        const [from, start, length] = [this.#file(packet), packet.long(), packet.long()];
        await this.#copy({ from, start, length, to: this.#file(packet), at: packet.long() });
        return null;
      }
      default:
        throw new SftpFault(STATUS.unsupported, `${name} is not supported`);
    }
  }

  /** Resolves a path but keeps each `..`, because its meaning depends on links. */
  #resolve(path: string): string {
    if (path === '') return this.#home;
    return path.startsWith('/') ? path : `${this.#home.replace(/\/$/, '')}/${path}`;
  }

  /** Returns the real path. Its last component doesn't have to exist. */
  async #realPath(path: string): Promise<string> {
    const [file, folder] = [quote(path), quote(path.replace(/[^/]*\/*$/, '') || '/')];
    const script = `readlink -f -- ${file} 2>/dev/null || { if [ -d ${folder} ]; then printf '%s\\n' ${file}; else ${IS_MISSING}; fi; }`;
    return (await this.#shell.run(script)).toString('latin1').replace(/\n$/, '');
  }

  async #expand(path: string): Promise<string> {
    const [begin = '', user] = USER.exec(path) ?? [];
    if (begin === '') return this.#realPath(this.#resolve(path));
    // `~` can only be followed by a plain name, which is safe in a command, or by nothing.
    const home = user === undefined ? this.#home : (await this.#shell.run(`echo ~${user}`)).toString('latin1').trim();
    if (!home.startsWith('/')) throw new SftpFault(STATUS.noSuchFile, 'no such user');
    return this.#realPath(`${home}/${path.slice(begin.length)}`);
  }

  async #fileSystem(path: string): Promise<bigint[]> {
    const output = await this.#shell.run(`stat -f -c '${STAT_FS}' -- ${quote(path)}`);
    const [, numbers, id, longest] = FILE_SYSTEM.exec(output.toString('latin1').trim()) ?? [];
    if (numbers === undefined || longest === undefined)
      throw new SftpFault(STATUS.failure, "the image's stat reported no file system");
    const counts = numbers.trim().split(' ').map(BigInt);
    // The number of free inodes is sent twice, because stat doesn't report how many of them users may take.
    return [...counts, ...counts.slice(-1), BigInt(`0x${id}`), 0n, BigInt(longest)];
  }

  #keep(handle: OpenFile | Folder): number {
    if (this.#handles.size >= MAX_HANDLES) throw new SftpFault(STATUS.failure, 'too many files are open');
    this.#lastHandle += 1;
    this.#handles.set(this.#lastHandle, handle);
    return this.#lastHandle;
  }

  /** Returns the number of bytes kept for open folders and small files. */
  #keptBytes(): number {
    let bytes = 0;
    for (const handle of this.#handles.values())
      bytes += handle.kind === 'folder' ? handle.listing.bytes : (handle.small?.length ?? 0);
    return bytes;
  }

  /** Marks a file as used and suspends another one if too many are active. */
  async #use(file: OpenFile): Promise<void> {
    this.#active.delete(file);
    this.#active.add(file);
    const [oldest] = this.#active;
    if (oldest === undefined || this.#active.size <= MAX_ACTIVE_FILES) return;
    this.#active.delete(oldest);
    this.#stopReading(oldest);
    await this.#flush(oldest).catch((error: SftpFault) => {
      oldest.fault = error;
    });
  }

  #stopReading(file: OpenFile): void {
    file.reader?.tunnel.destroy();
    file.reader = null;
    file.small = null;
  }

  #file(packet: Packet): OpenFile {
    const handle = this.#handles.get(packet.data().readUInt32BE(0));
    if (handle?.kind !== 'file') throw new SftpFault(STATUS.failure, 'no such handle');
    return handle;
  }

  async #open(path: string, flags: number, { mode }: Attributes): Promise<number> {
    const file = quote(path);
    const has = (flag: number) => (flags & flag) !== 0;
    const steps = [`[ ! -d ${file} ] || { echo 'is a directory'; false; }`];
    if (!has(OPEN.create)) steps.push(`[ -e ${file} ] || { ${IS_MISSING}; }`);
    if (has(OPEN.read)) steps.push(`{ [ ! -e ${file} ] || [ -r ${file} ] || { echo 'Permission denied'; false; }; }`);
    if (has(OPEN.write)) {
      const create = has(OPEN.truncate) ? `: > ${file}` : `: >> ${file}`;
      const perms =
        mode === undefined ? '' : ` && if [ $new = 1 ]; then chmod ${octal(mode & ~this.#umask)} ${file}; fi`;
      const exclusive = has(OPEN.create) && has(OPEN.exclusive) ? `set -C; : > ${file}` : create;
      steps.push(`( new=0; [ -e ${file} ] || new=1; ${exclusive}${perms} )`);
    }
    await this.#shell.run(steps.join(' && '));
    return this.#keep({ kind: 'file', path, flags, small: null, reader: null, writer: null, fault: null });
  }

  async #close(packet: Packet): Promise<void> {
    const handle = packet.data().readUInt32BE(0);
    const file = this.#handles.get(handle);
    this.#handles.delete(handle);
    if (file?.kind !== 'file') return;
    this.#active.delete(file);
    this.#stopReading(file);
    await this.#flush(file);
  }

  async #read(file: OpenFile, offset: bigint, length: number): Promise<Buffer> {
    await this.#flush(file);
    await this.#use(file);
    if (file.small === null && file.reader === null) {
      const { size = 0n } = await this.#shell.stat(file.path, true);
      if (size <= SMALL_BYTES)
        file.small = await this.#shell.run(`head -c ${SMALL_BYTES * 2n} ${quote(file.path)}`, {
          keepsErrors: false,
          maxBytes: Number(SMALL_BYTES * 2n),
        });
    }
    if (file.small !== null) return file.small.subarray(Number(offset), Number(offset) + length);
    if (file.reader === null || offset !== file.reader.at) {
      // Handles requests that the client sent before it knew where the file ends.
      if (file.reader?.tunnel.readableEnded && offset > file.reader.at) return Buffer.alloc(0);
      file.reader?.tunnel.destroy();
      const from = offset === 0n ? 'exec cat -- "$f"' : `exec tail -c +${offset + 1n} -- "$f"`;
      const tunnel = await this.#tunnel(file.path, from);
      tunnel.stderr.resume();
      tunnel.on('error', () => {});
      file.reader = { tunnel, at: offset, left: new ByteQueue() };
    }
    const bytes = await take(file.reader, length);
    file.reader.at += BigInt(bytes.length);
    return bytes;
  }

  async #write(file: OpenFile, offset: bigint, bytes: Buffer): Promise<void> {
    if ((file.flags & OPEN.write) === 0) throw new SftpFault(STATUS.denied, 'not opened for writing');
    this.#stopReading(file);
    if (file.fault !== null) throw file.fault;
    await this.#use(file);
    if (file.writer !== null && file.writer.at !== offset && (file.flags & OPEN.append) === 0) await this.#flush(file);
    if (file.writer === null) {
      const seek = offset === 0n ? '' : `dd bs=1 seek=${offset} count=0 conv=notrunc 2>/dev/null; `;
      const command = (file.flags & OPEN.append) !== 0 ? 'exec cat >> "$f"' : `{ ${seek}exec cat; } 1<> "$f"`;
      const tunnel = await this.#tunnel(file.path, command);
      file.writer = { tunnel, at: offset, failure: failureOf(tunnel) };
    }
    const { writer } = file;
    writer.at += BigInt(bytes.length);
    if (writer.tunnel.destroyed) throw new SftpFault(STATUS.failure, (await writer.failure) ?? "can't be written");
    if (writer.tunnel.write(Buffer.from(bytes))) return;
    await firstEvent(writer.tunnel, 'drain', 'close');
  }

  /** Copies bytes between files. A length of zero copies the rest of the file. */
  async #copy({ from, start, length, to, at }: Copy): Promise<void> {
    if ((to.flags & OPEN.write) === 0) throw new SftpFault(STATUS.denied, 'not opened for writing');
    if (from.path === to.path) throw new SftpFault(STATUS.failure, "a file can't be copied into itself");
    await this.#flush(from);
    await this.#flush(to);
    this.#stopReading(to);
    const source = `${nameIt(Buffer.from(from.path, 'latin1'))}; s=$f`;
    const bytes = length === 0n ? '' : ` | head -c ${length}`;
    const seek = at === 0n ? '' : `dd bs=1 seek=${at} count=0 conv=notrunc 2>/dev/null; `;
    const tunnel = await this.#tunnel(to.path, `{ ${seek}tail -c +${start + 1n} -- "$s"${bytes}; } 1<> "$f"`, source);
    tunnel.end();
    const failure = await failureOf(tunnel);
    if (failure !== null) throw new SftpFault(STATUS.failure, failure);
  }

  /** Resolves when everything written so far has reached the file. */
  async #flush(file: OpenFile): Promise<void> {
    const { writer, fault } = file;
    file.fault = null;
    if (fault !== null) throw fault;
    if (writer === null) return;
    file.writer = null;
    writer.tunnel.end();
    const failure = await writer.failure;
    if (failure !== null) throw new SftpFault(STATUS.failure, failure);
  }

  async #setAttributes(path: string, { size, owner, mode, times }: Attributes, follows: boolean): Promise<void> {
    const file = quote(path);
    const link = follows ? '' : '-h ';
    if (!follows && (size !== undefined || mode !== undefined)) {
      // Links have neither a size nor a mode.
      await this.#shell.run(`[ ! -L ${file} ] || { echo 'a link has neither size nor mode'; false; }`);
    }
    const steps = [
      ...(size === undefined ? [] : [`truncate -s ${size} -- ${file}`]),
      ...(owner === undefined ? [] : [`chown ${link}${owner.uid}:${owner.gid} -- ${file}`]),
      ...(mode === undefined ? [] : [`chmod ${octal(mode)} -- ${file}`]),
      ...(times === undefined ? [] : [`touch ${link}-c -a -d @${times.accessed} -- ${file}`]),
      ...(times === undefined ? [] : [`touch ${link}-c -m -d @${times.modified} -- ${file}`]),
    ];
    if (steps.length > 0) await this.#shell.run(steps.join(' && '));
  }

  /** Creates a link. Fails if anything exists at `path`, because `ln` would put the link into an existing folder. */
  async #link(command: string, target: string, path: string): Promise<void> {
    await this.#shell.run(
      `if ${isThere(path)}; then echo 'already exists'; false; else ${command} -- ${target} ${path}; fi`,
    );
  }

  /** Renames like rename(2), whereas `mv` would move into an existing folder, even through a link. */
  async #rename(from: string, to: string, replaces: boolean): Promise<void> {
    const [old, next] = [quote(from), quote(to)];
    const move = `mv -f -- ${old} ${next}`;
    const fail = (message: string) => `{ echo '${message}'; false; }`;
    if (!replaces) {
      await this.#shell.run(
        `if ! { ${isThere(old)}; }; then ${IS_MISSING}; elif ${isThere(next)}; then ${fail('already exists')}; else ${move}; fi`,
      );
      return;
    }
    // Some versions of `mv -T` don't replace a link to a folder.
    await this.#shell.run(`if ! { ${isThere(old)}; }; then ${IS_MISSING}
elif [ -d ${old} ] && [ ! -L ${old} ]; then
  if [ -L ${next} ] || { [ -e ${next} ] && [ ! -d ${next} ]; }; then ${fail('Not a directory')}
  elif [ -d ${next} ] && [ ! ${old} -ef ${next} ]; then rmdir -- ${next} && { ${move} || { mkdir -- ${next}; false; }; }
  elif [ ! -d ${next} ]; then ${move}; fi
elif [ -L ${next} ]; then mv -fT -- ${old} ${next} 2>/dev/null || { rm -f -- ${next} && ${move}; }
elif [ -d ${next} ]; then ${fail('Is a directory')}
elif [ -L ${old} ] || [ ! ${old} -ef ${next} ]; then ${move}; fi`);
  }

  /** Opens a tunnel for a command that runs after the command `before`, with the path in `$f`. */
  #tunnel(path: string, command: string, before = ':'): Promise<Tunnel> {
    // Uses sh instead of the user's shell, because these lines are written for sh.
    const target: ExecTarget = {
      kind: 'exec',
      command: null,
      argv: ['/bin/sh', '-c', `${before}; ${nameIt(Buffer.from(path, 'latin1'))}; ${command}`],
      env: {},
      terminal: null,
    };
    return openCommand(this.#connected, target);
  }
}

/** Resolves to null once the writing command has written everything, or to the reason why it failed. */
function failureOf(tunnel: Tunnel): Promise<string | null> {
  const stderr = new LastBytes();
  tunnel.on('error', () => {});
  tunnel.resume();
  tunnel.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve) => {
    tunnel.once('close', () => resolve(tunnel.exitCode === 0 ? null : lastLine(stderr.bytes) || 'failed'));
  });
}

/** Returns a folder's next names, or an empty list at its end. */
async function nextEntries({ entries }: Listing): Promise<Entry[]> {
  const found: Entry[] = [];
  for (let lines = 1; found.length < NAMES_PER_ANSWER; lines += 1) {
    const { value, done } = entries.next();
    if (done === true) break;
    if (value !== null) found.push(value);
    if (lines % LINES_PER_TURN === 0) await turn();
  }
  return found;
}

/** Reads exactly `length` bytes, or fewer only at the end of the file. */
async function take({ tunnel, left }: { tunnel: Tunnel; left: ByteQueue }, length: number): Promise<Buffer> {
  while (left.length < length) {
    const chunk = tunnel.read() as Buffer | null;
    if (chunk !== null) left.push(chunk);
    else if (tunnel.readableEnded) break;
    else if (tunnel.destroyed) throw new SftpFault(STATUS.failure, 'the connection was lost');
    else await firstEvent(tunnel, 'readable', 'end', 'close');
  }
  return left.take(length);
}

/** Tests whether the path exists, even if it is a dangling link. */
function isThere(file: string): string {
  return `[ -e ${file} ] || [ -L ${file} ]`;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8);
}

import type { Socket } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import type { ServerChannel } from 'ssh2';
import type { Tunnel } from '../tunnels.js';
import { firstEvent } from './first-event.js';

/** Maximum number of encrypted bytes waiting for a client to read them. Above this limit, sending pauses. */
const MAX_UNSENT_BYTES = 1_048_576;
/** A client that exceeds its window by more than this many bytes is disconnected. */
const MAX_UNREAD_BYTES = 6_291_456;

/**
 * Sends bytes from tunnels to a channel, one tunnel at a time. If standard output and standard error both waited for
 * the client's window, the library would lose one of them and send the other's waiting data twice.
 */
class Outlet {
  readonly #channel: ServerChannel;
  readonly #socket: Socket;
  #isTaken = false;
  #next: (() => void) | null = null;

  constructor(channel: ServerChannel, socket: Socket) {
    this.#channel = channel;
    this.#socket = socket;
  }

  /** Resolves once everything has been passed to the client. */
  send(source: Readable, toStderr = false): Promise<void> {
    return new Promise((resolve) => {
      const sink = this.#sink(toStderr ? this.#channel.stderr : this.#channel);
      sink.once('finish', resolve).once('error', () => resolve());
      source.once('close', resolve);
      source.pipe(sink);
    });
  }

  /**
   * Limits how fast bytes are passed to the channel. The library would send as fast as the channel's window allows,
   * even to a client that doesn't read.
   */
  #sink(target: Writable): Writable {
    const socket = this.#socket;
    const write = (chunk: Buffer, done: () => void) => {
      // Sends the packets together.
      socket.cork();
      process.nextTick(() => socket.uncork());
      target.write(chunk, () => {
        this.#pass();
        if (socket.writableLength < MAX_UNSENT_BYTES || socket.destroyed) done();
        else void firstEvent(socket, 'drain', 'close').then(() => done());
      });
    };
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (this.#isTaken) {
          this.#next = () => write(chunk, done);
          return;
        }
        this.#isTaken = true;
        write(chunk, done);
      },
    });
  }

  /** Lets the other source write. */
  #pass(): void {
    Object.assign(this.#channel, NOTHING_WAITS);
    const next = this.#next;
    this.#next = null;
    if (next === null) this.#isTaken = false;
    else next();
  }
}

/** Fields of the library's channel that the library doesn't clear itself. */
const NOTHING_WAITS = { _chunk: undefined, _chunkcb: undefined, _chunkErr: undefined, _chunkcbErr: undefined };

/** Disconnects a client that exceeds its window. */
export function guard(channel: ServerChannel, socket: Socket): void {
  const push = channel.push.bind(channel);
  channel.push = (chunk, encoding) => {
    if (channel.readableLength > MAX_UNREAD_BYTES) socket.destroy();
    return push(chunk, encoding);
  };
}

/** Joins a channel to a command. Resolves when the command has ended and its output has been passed to the client. */
export async function joinCommand(channel: ServerChannel, tunnel: Tunnel, socket: Socket): Promise<void> {
  guard(channel, socket);
  channel.once('close', () => tunnel.destroy());
  channel.pipe(tunnel);
  const outlet = new Outlet(channel, socket);
  await Promise.all([outlet.send(tunnel), outlet.send(tunnel.stderr, true)]);
}

/** Joins a channel to a connection. Each side can end its own half first. */
export function joinPort(channel: ServerChannel, tunnel: Tunnel, socket: Socket): void {
  guard(channel, socket);
  channel.once('close', () => tunnel.destroy());
  tunnel.once('error', () => channel.close());
  channel.pipe(tunnel);
  let ended = 0;
  const end = () => {
    ended += 1;
    if (ended === 2) channel.end();
  };
  channel.once('end', end);
  void new Outlet(channel, socket).send(tunnel).then(() => {
    (channel as unknown as { eof(): void }).eof();
    end();
  });
}

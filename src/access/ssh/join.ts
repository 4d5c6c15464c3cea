import type { Socket } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import type { ServerChannel } from 'ssh2';
import type { AgentStream } from '../streams.js';
import { firstEvent } from './first-event.js';

/** Encrypted bytes that wait for a client to read them: above it nothing more is sent to the client. */
const MAX_UNSENT_BYTES = 1_048_576;
/** A client that sends so much more than it was allowed is cut off. */
const MAX_UNREAD_BYTES = 6_291_456;

/**
 * The bytes of a stream to a channel, which the library would send as fast as the channel's window allows even to a
 * client that reads nothing.
 */
function sinkOf(channel: ServerChannel, socket: Socket, toStderr: boolean): Writable {
  const target: Writable = toStderr ? channel.stderr : channel;
  return new Writable({
    write: (chunk, _encoding, done) => {
      // Its packets go out together.
      socket.cork();
      process.nextTick(() => socket.uncork());
      target.write(chunk, () => {
        if (socket.writableLength < MAX_UNSENT_BYTES || socket.destroyed) done();
        else void firstEvent(socket, 'drain', 'close').then(() => done());
      });
    },
  });
}

/** Resolves when all of it was handed to the client. */
function send(source: Readable, channel: ServerChannel, socket: Socket, toStderr = false): Promise<void> {
  return new Promise((resolve) => {
    const sink = sinkOf(channel, socket, toStderr);
    sink.once('finish', resolve).once('error', () => resolve());
    source.once('close', resolve);
    source.pipe(sink);
  });
}

/** Drops a client that does not keep to the window it was given. */
export function guard(channel: ServerChannel, socket: Socket): void {
  const push = channel.push.bind(channel);
  channel.push = (chunk, encoding) => {
    if (channel.readableLength > MAX_UNREAD_BYTES) socket.destroy();
    return push(chunk, encoding);
  };
}

/** Joins a channel to a command; resolves when it has ended and its output was handed to the client. */
export async function joinCommand(channel: ServerChannel, stream: AgentStream, socket: Socket): Promise<void> {
  guard(channel, socket);
  channel.once('close', () => stream.destroy());
  channel.pipe(stream);
  await Promise.all([send(stream, channel, socket), send(stream.stderr, channel, socket, true)]);
}

/** Joins a channel to a connection; either side may end its own half first. */
export function joinPort(channel: ServerChannel, stream: AgentStream, socket: Socket): void {
  guard(channel, socket);
  channel.once('close', () => stream.destroy());
  stream.once('error', () => channel.close());
  channel.pipe(stream);
  let ended = 0;
  const end = () => {
    ended += 1;
    if (ended === 2) channel.end();
  };
  channel.once('end', end);
  void send(stream, channel, socket).then(() => {
    (channel as unknown as { eof(): void }).eof();
    end();
  });
}

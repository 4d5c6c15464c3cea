import type { Socket } from 'node:net';

type Write = (chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void) => void;
type WriteMany = (chunks: unknown, done: (error?: Error | null) => void) => void;

/**
 * Keeps a socket readable after the other side has stopped reading. A command may end without reading all of its input.
 * The engine then closes its side, but the output that it sent before must still be read. By default, Node destroys a
 * socket, and drops its unread data, if a write fails or the other side closes it with unread input (ECONNRESET). After
 * this call, a failed write ends only writing, and a reset ends only reading.
 */
export function keepReading(socket: Socket): void {
  const own = socket as Socket & { _write: Write; _writev: WriteMany };
  const [write, writeMany] = [own._write.bind(socket), own._writev.bind(socket)];
  let isBroken = false;
  const ended = (done: () => void) => (error?: Error | null) => {
    isBroken ||= Boolean(error);
    done();
  };
  own._write = (chunk, encoding, done) => (isBroken ? done() : write(chunk, encoding, ended(done)));
  own._writev = (chunks, done) => (isBroken ? done() : writeMany(chunks, ended(done)));
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error?: Error & { code?: string }) => {
    if (error?.code !== 'ECONNRESET' || socket.readableEnded) return destroy(error);
    socket.push(null);
    return socket;
  };
}

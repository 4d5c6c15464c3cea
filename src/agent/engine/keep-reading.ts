import type { Socket } from 'node:net';

type Write = (chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void) => void;
type WriteMany = (chunks: unknown, done: (error?: Error | null) => void) => void;

/**
 * Keeps a socket readable after its other side stopped reading. A command may end without having read its input: the
 * engine then closes its side, but what it sent earlier must still be read. Node destroys a socket when a write to it
 * fails, or when the other side closed it with unread input (ECONNRESET), and drops what was not read by then. After
 * this call a failed write ends only writing, and the reset ends reading.
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

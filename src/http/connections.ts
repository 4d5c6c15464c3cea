import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';

export interface UnsentLimits {
  /** Maximum time that a peer may leave pending bytes unread. */
  stalledMs: number;
  /** Maximum number of bytes pending on all connections in total. */
  maxBytes: number;
  /** Interval between checks, which is also the maximum delay before an overdue connection is closed. */
  checkEveryMs: number;
}

export const UNSENT_LIMITS: UnsentLimits = { stalledMs: 30_000, maxBytes: 128 * 1_024 * 1_024, checkEveryMs: 1_000 };

/**
 * Finished responses are pruned once a connection has this many. Responses to pipelined requests wait in memory until
 * the previous ones are sent.
 */
const PRUNED_FROM = 8;

/** An open connection with its responses and the time at which its peer last accepted data. */
class Connection {
  readonly socket: Socket;
  /** All unfinished responses and possibly some finished ones. The newest is always last. */
  #responses: ServerResponse[] = [];
  #taken = 0;
  #queued = 0;
  #read = -1;
  #readAtMs = 0;
  /** Time since which the peer has accepted no data, or since which there was none to accept. */
  stalledSinceMs = performance.now();

  constructor(socket: Socket) {
    this.socket = socket;
  }

  get newest(): ServerResponse | undefined {
    return this.#responses.at(-1);
  }

  add(response: ServerResponse): void {
    if (this.#responses.length >= PRUNED_FROM || this.newest?.writableFinished === true) this.#prune();
    this.#responses.push(response);
  }

  /**
   * Returns the number of unsent bytes, including those of queued responses. The length of a string in characters is
   * used as its size.
   */
  get unsent(): number {
    this.#prune();
    const { writableLength } = this.socket;
    return this.#responses.reduce((sum, response) => sum + extraLength(response, writableLength), writableLength);
  }

  /**
   * Returns whether the connection has been silent for `forMs`: no request is awaiting a response, and no part of a new
   * one has arrived.
   */
  isSilent(nowMs: number, forMs: number): boolean {
    const { newest, socket } = this;
    const { bytesRead } = socket;
    const isAnswering = newest?.req.complete === true && !newest.writableFinished;
    if (isAnswering || bytesRead !== this.#read) {
      this.#read = bytesRead;
      this.#readAtMs = nowMs;
    }
    return nowMs - this.#readAtMs >= forMs;
  }

  update(nowMs: number): void {
    const { socket } = this;
    const taken = socket.bytesWritten - socket.writableLength;
    const queued = queuedBytes(socket);
    const isStalled = socket.writableLength > 0 && taken <= this.#taken && queued === this.#queued;
    this.#taken = taken;
    this.#queued = queued;
    if (!isStalled) this.stalledSinceMs = nowMs;
  }

  #prune(): void {
    this.#responses = this.#responses.filter((response) => !response.writableFinished && !response.destroyed);
  }
}

/**
 * Returns the number of bytes buffered by a response in addition to its connection's buffer. Once the response owns the
 * connection, its own length includes that buffer.
 */
function extraLength(response: ServerResponse, ofSocket: number): number {
  return response.writableLength - (response.socket === null ? 0 : ofSocket);
}

/**
 * Returns how many bytes of the current write the system hasn't accepted yet. Without this, a large response would
 * count as a single step. This relies on a Node internal that also drives the timeout of `net.Socket`, because there is
 * no public API for it.
 */
function queuedBytes(socket: Socket): number {
  return (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
}

/**
 * Tracks a server's open connections. Closes those whose peers don't read, and those stalled the longest if too many
 * bytes are pending in total.
 */
export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  readonly #limits: UnsentLimits;

  constructor(server: Server, limits: UnsentLimits) {
    this.#limits = limits;
    server.on('connection', (socket) => {
      this.#open.set(socket, new Connection(socket));
      socket.once('close', () => this.#open.delete(socket));
    });
    const timer = setInterval(() => this.#check(), limits.checkEveryMs).unref();
    server.once('close', () => clearInterval(timer));
  }

  add(response: ServerResponse): void {
    this.#open.get(response.req.socket)?.add(response);
  }

  /** Returns the newest response on a connection. */
  newestOn(socket: Duplex): ServerResponse | undefined {
    return this.#open.get(socket)?.newest;
  }

  /** Closes connections that await no response and have received nothing for `forMs`. Must be called repeatedly. */
  closeSilent(forMs: number): void {
    const now = performance.now();
    for (const connection of this.#open.values()) if (connection.isSilent(now, forMs)) connection.socket.destroy();
  }

  #check(): void {
    const now = performance.now();
    const waiting: { connection: Connection; bytes: number }[] = [];
    let total = 0;
    for (const connection of this.#open.values()) {
      connection.update(now);
      const bytes = connection.unsent;
      if (bytes === 0) continue;
      if (now - connection.stalledSinceMs >= this.#limits.stalledMs) {
        cut(connection);
        continue;
      }
      waiting.push({ connection, bytes });
      total += bytes;
    }
    if (total <= this.#limits.maxBytes) return;
    waiting.sort(
      (one, other) => one.connection.stalledSinceMs - other.connection.stalledSinceMs || other.bytes - one.bytes,
    );
    for (const { connection, bytes } of waiting) {
      if (total <= this.#limits.maxBytes) return;
      cut(connection);
      total -= bytes;
    }
  }
}

/** Closes the connection immediately and discards the system's send buffer. */
function cut({ socket }: Connection): void {
  socket.resetAndDestroy();
}

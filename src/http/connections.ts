import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';

export interface UnsentLimits {
  /** How long a peer may leave waiting bytes untouched. */
  stalledMs: number;
  /** Maximum bytes that wait on all connections together. */
  maxBytes: number;
  /** Interval of the check: a connection is cut at most this much later. */
  checkEveryMs: number;
}

export const UNSENT_LIMITS: UnsentLimits = { stalledMs: 30_000, maxBytes: 128 * 1_024 * 1_024, checkEveryMs: 1_000 };

/** Pipelined requests: their answers wait in memory until the previous ones are sent. */
const PRUNED_FROM = 8;

/** An open connection: its responses, and when its peer last accepted data. */
class Connection {
  readonly socket: Socket;
  /** Unfinished responses, and possibly others; the newest is always the last. */
  #responses: ServerResponse[] = [];
  #taken = 0;
  #queued = 0;
  #read = -1;
  #readAtMs = 0;
  /** Since then the peer has accepted nothing, or there was nothing to accept. */
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

  /** Returns the bytes that wait, including answers that wait for others. Texts count by their characters. */
  get unsent(): number {
    this.#prune();
    const { writableLength } = this.socket;
    return this.#responses.reduce((sum, response) => sum + extraLength(response, writableLength), writableLength);
  }

  /** Returns whether no complete request waits for its answer, and no part of one has arrived for this long. */
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
 * Returns the bytes that a response holds in addition to its connection's buffer, which its own length includes once it
 * has one.
 */
function extraLength(response: ServerResponse, ofSocket: number): number {
  return response.writableLength - (response.socket === null ? 0 : ofSocket);
}

/**
 * Returns the bytes of the current write that the system has not taken yet. Node also uses this to see whether a write
 * makes progress (`net.Socket`'s own timeout), and offers no other way: without it, a large answer would be one step.
 */
function queuedBytes(socket: Socket): number {
  return (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
}

/**
 * The open connections of a server. Cuts those whose peer does not read, and the longest stalled ones when too many
 * bytes wait in total.
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

  /** The newest response on a connection. */
  newestOn(socket: Duplex): ServerResponse | undefined {
    return this.#open.get(socket)?.newest;
  }

  /** Cuts the connections that no longer receive anything; to be called repeatedly. */
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

/** Cuts immediately, and discards the system's buffer for the peer. */
function cut({ socket }: Connection): void {
  socket.resetAndDestroy();
}

// A load generator for one core. It spends 16 µs of CPU time per request, whereas autocannon 9 spends 30 and would
// measure itself, because a bare node:http server only needs 23. It understands the HTTP that these servers use:
// keep-alive, one request at a time per connection, and bodies that are empty, of a stated length, or chunked.
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;
const MESSAGE_LENGTH = 500;
const NO_BODY = new Set([204, 304]);

/** Returns a request as bytes. `body` is a string. */
export function requestBytes({ method = 'GET', path, host = '127.0.0.1', headers = {}, body }) {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** Returns clients that take requests from one shared list in turn, until the load ends. */
export function inTurn(requests) {
  let sent = 0;
  const next = (isOver) => {
    if (isOver) return null;
    const request = requests[sent % requests.length];
    sent += 1;
    return request;
  };
  return () => ({ next });
}

/** Returns clients that send each request once. `onResponse(index, answer)` is called for every response. */
function once(requests, onResponse) {
  let sent = 0;
  return () => {
    let index = -1;
    return {
      wantsBody: true,
      next: (isOver, answer) => {
        if (index >= 0) onResponse(index, answer);
        index = isOver ? requests.length : sent;
        sent += 1;
        return requests[index] ?? null;
      },
    };
  };
}

/** Returns the parsed responses in order. Throws unless each has status 200 and no GraphQL errors. */
export async function answersTo(port, requests, connections = 1) {
  const answers = [];
  const onResponse = (index, { body }) => {
    answers[index] = JSON.parse(body);
  };
  await runLoad({ port, connections, seconds: Number.POSITIVE_INFINITY, clientOf: once(requests, onResponse) });
  const failed = answers.find(({ errors }) => errors !== undefined);
  if (failed !== undefined) throw new Error(`refused: ${JSON.stringify(failed.errors).slice(0, 500)}`);
  return answers;
}

/**
 * Sends requests over `connections` connections for `seconds` seconds, and then lets each client complete its sequence
 * of requests. `clientOf(connection)` creates a connection's client. The client's `next(isOver, answer)` receives the
 * previous response as `{ status, body, latencyMs }`, or nothing on the first call, and returns the next request, or
 * null to end. `body` is only set with `wantsBody`. Rejects at the end if any response had a status other than
 * `status`, which is a number or a list. `openSocket(port)` may resolve to a TLS connection.
 */
export async function runLoad({ port, connections, seconds, clientOf, status = 200, openSocket = open }) {
  const accepted = new Set([status].flat());
  const tally = { answers: 0, latenciesMs: [], statuses: {}, refused: new Map(), isOver: false };
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(port)));
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  let took = 0;
  const deadline = setTimeout(
    () => {
      tally.isOver = true;
      took = performance.now() - startedAt;
    },
    Math.min(seconds * 1_000, 2 ** 31 - 1),
  );
  try {
    await Promise.all(sockets.map((socket, index) => converse(socket, clientOf(index), tally, accepted)));
  } finally {
    clearTimeout(deadline);
    for (const socket of sockets) socket.destroy();
  }
  if (took === 0) took = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  if (tally.refused.size > 0) throw new Error(`unexpected responses: ${[...tally.refused.values()].join('; ')}`);
  return {
    perSecond: (tally.answers / took) * 1_000,
    /** Number of responses by status. */
    statuses: tally.statuses,
    /** Latencies of all responses, including those received after the deadline. */
    latenciesMs: tally.latenciesMs,
    /** Share of a core that the generator itself used. */
    generatorBusy: (cpu.user + cpu.system) / 1_000 / took,
  };
}

function open(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** Resolves when the client ends. Rejects if the connection ends first. */
function converse(socket, client, tally, accepted) {
  return new Promise((resolve, reject) => {
    let answer = new Answer(client.wantsBody);
    let sentAt = 0;
    const send = (request) => {
      if (request === null) return resolve();
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (chunk) => {
      if (!answer.add(chunk)) return;
      const latencyMs = performance.now() - sentAt;
      tally.latenciesMs.push(latencyMs);
      if (!tally.isOver) tally.answers += 1;
      const { status, body } = answer;
      tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
      if (!accepted.has(status)) tally.refused.set(status, answer.text());
      answer = new Answer(client.wantsBody);
      send(client.next(tally.isOver, { status, body, latencyMs }));
    });
    send(client.next(false));
  });
}

/** A response that is still arriving. */
class Answer {
  status = 0;
  /** Set once the response is complete, and only with `wantsBody`. */
  body;
  #wantsBody;
  #bytes = null;
  #headLength = 0;
  /** Number of body bytes still missing: -1 while the head is incomplete, -2 for a chunked body. */
  #left = -1;

  constructor(wantsBody = false) {
    this.#wantsBody = wantsBody;
  }

  /** Adds bytes and returns whether the response is complete. */
  add(chunk) {
    // Body bytes are only kept if they are read later.
    const isKept = this.#left === -1 || this.#left === -2 || this.#wantsBody;
    if (isKept) this.#bytes = this.#bytes === null ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (this.#left === -1) {
      if (!this.#readHead()) return false;
    } else if (this.#left > 0) this.#left -= chunk.length;
    if (this.#left === -2) return this.#readChunks();
    if (this.#left > 0) return false;
    if (this.#wantsBody) this.body = this.#bytes.subarray(this.#headLength);
    return true;
  }

  /** Returns the status line and body as text for an error message. */
  text() {
    const [statusLine] = this.#bytes.toString('latin1').split('\r\n');
    return `${statusLine} ${this.#bytes.toString('utf8', this.#headLength).slice(0, MESSAGE_LENGTH)}`;
  }

  #readHead() {
    const end = this.#bytes.indexOf(HEAD_END);
    if (end < 0) return false;
    const head = this.#bytes.latin1Slice(0, end);
    this.status = Number(head.slice(9, 12));
    this.#headLength = end + HEAD_END.length;
    if (NO_BODY.has(this.status)) this.#left = 0;
    else if (CHUNKED.test(head)) this.#left = -2;
    else this.#left = this.#headLength + Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0) - this.#bytes.length;
    return true;
  }

  #readChunks() {
    const parts = [];
    for (let at = this.#headLength; ; ) {
      const lineEnd = this.#bytes.indexOf('\r\n', at);
      if (lineEnd < 0) return false;
      const length = Number.parseInt(this.#bytes.latin1Slice(at, lineEnd), 16);
      const from = lineEnd + 2;
      if (this.#bytes.length < from + length + 2) return false;
      if (length === 0) break;
      if (this.#wantsBody) parts.push(this.#bytes.subarray(from, from + length));
      at = from + length + 2;
    }
    this.body = Buffer.concat(parts);
    return true;
  }
}

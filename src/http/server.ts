import { createServer, type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Connections, UNSENT_LIMITS } from './connections.js';
import { errorBody, JSON_TYPE, type Refusal, sendError } from './error-envelope.js';
import type { Messages } from './messages.js';
import { createRequestIds } from './request-id.js';

/** Takes over an upgraded connection. Returns false if the connection isn't meant for this listener. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

interface Timeouts {
  /** Maximum time from a request's first byte, or from the start of its connection, to the end of its head. */
  headersMs: number;
  /** Maximum time until the end of the request's body. */
  requestMs: number;
  /** Interval between checks, which is also the maximum delay before an overdue connection is closed. */
  checkEveryMs: number;
  /** Maximum idle time between two requests on the same connection. */
  idleMs: number;
}

export interface DrainableServer extends Server {
  /** Closes connections that await no response and have received nothing for `forMs`. Must be called repeatedly. */
  closeSilent(forMs: number): void;
}

/**
 * Default timeouts. Idle connections are kept open longer than proxies keep theirs (two minutes in Caddy). Otherwise, a
 * request could be in flight when its connection closes and be lost, and a proxy may not resend it.
 */
const TIMEOUTS: Timeouts = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 2_000, idleMs: 150_000 };
/** Time that a peer has to read an error before its connection is closed. */
const LINGER_MS = 1_000;
/** Maximum total size of the request line and all headers. */
const MAX_HEADER_BYTES = 16_384;

const MALFORMED: Refusal = { status: 400, code: 'invalid_request', message: 'this is not valid HTTP' };
/** Errors from Node's parser that have a status other than 400. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'invalid_request', message: 'the request took too long to arrive' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'payload_too_large',
    message: 'the chunk extensions are too long',
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'payload_too_large',
    message: `the request line and headers must be at most ${MAX_HEADER_BYTES / 1_024} kB`,
  },
};
const UNMET_EXPECTATION: Refusal = {
  status: 417,
  code: 'invalid_request',
  message: 'the only supported value of Expect is 100-continue',
};

/**
 * Creates a server that responds in JSON even to input that is malformed, too slow or has too large a head. It limits
 * how many bytes may wait for clients to read them.
 */
export function createHttpServer(
  messages: Messages,
  listener: RequestListener,
  timeouts = TIMEOUTS,
  onUpgrade: UpgradeListener = () => false,
  unsentLimits = UNSENT_LIMITS,
): DrainableServer {
  const requestIds = createRequestIds();
  const server = createServer({
    ...messages,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    keepAliveTimeout: timeouts.idleMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node's own error response has no body, so the pipeline sends one instead.
    requireHostHeader: false,
  });
  const connections = new Connections(server, unsentLimits);
  server.on('request', (request, response) => {
    connections.add(response);
    listener(request, response);
  });
  // Only WebSockets reach this listener (see messages.ts).
  server.on('upgrade', (request, socket, head) => {
    if (onUpgrade(request, socket, head)) return;
    if (head.length > 0) socket.unshift(head);
    const response = new messages.ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once('finish', () => endSoon(socket));
    connections.add(response);
    listener(request, response);
  });
  server.on('checkExpectation', (_request, response) => {
    sendError(response, UNMET_EXPECTATION, lastHeaders(requestIds()));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = connections.newestOn(socket);
    const isPending = response !== undefined && !response.writableFinished;
    const refuse = () => endSoon(socket, rawResponse(REFUSALS[error.code ?? ''] ?? MALFORMED, requestIds()));
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    // Node reports the error only once.
    else if (isPending && response.req.state?.isLongLived && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return;
    // A complete request came first. It is still running, and the error must not be mistaken for its response.
    else if (isPending && response.req.complete) response.once('finish', refuse);
    else if (isPending && response.headersSent) socket.destroy();
    else refuse();
  });
  return Object.assign(server, { closeSilent: (forMs: number) => connections.closeSilent(forMs) });
}

/** Ends a connection with this text, and releases it even if the peer never closes its side. */
function endSoon(socket: Duplex, text?: string): void {
  socket.end(text);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function lastHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, Connection: 'close' };
}

/** Formats an error for a connection that has no response object. */
function rawResponse(refusal: Refusal, requestId: string): string {
  const body = errorBody(refusal);
  const headers = {
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(body),
    ...lastHeaders(requestId),
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${head.join('')}\r\n${body}`;
}

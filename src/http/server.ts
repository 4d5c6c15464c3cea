import { createServer, type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Connections, UNSENT_LIMITS } from './connections.js';
import { errorBody, JSON_TYPE, type Refusal, sendError } from './error-envelope.js';
import type { Messages } from './messages.js';
import { createRequestIds } from './request-id.js';

/** Takes a connection over; returns false for one that is not its own. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

interface Timeouts {
  /** Time from the first byte of a request, or from its connection, to the end of its head. */
  headersMs: number;
  /** Time to the end of its body. */
  requestMs: number;
  /** Interval of the check: a connection is cut at most this much later. */
  checkEveryMs: number;
  /** Time between two requests on a connection. */
  idleMs: number;
}

export interface DrainableServer extends Server {
  /** Cuts connections whose request does not arrive; to be called repeatedly. */
  closeSilent(forMs: number): void;
}

/**
 * Idle connections are kept longer than proxies keep theirs (Caddy for two minutes): a request in flight when its
 * connection closes is lost, and a proxy may not resend it.
 */
const TIMEOUTS: Timeouts = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 2_000, idleMs: 150_000 };
/** Time to read a refusal; afterwards its connection is closed regardless of the peer. */
const LINGER_MS = 1_000;
/** Maximum size of the request line and all headers together. */
const MAX_HEADER_BYTES = 16_384;

const MALFORMED: Refusal = { status: 400, code: 'invalid_request', message: 'this is not valid HTTP' };
/** Errors of Node's parser that are not answered with 400. */
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
 * Creates a server that answers in JSON even if no request results: malformed, too slow, or with too large a head.
 * Bounds the bytes that wait for its clients to read.
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
    // Node's own refusal has no body; the pipeline refuses instead.
    requireHostHeader: false,
  });
  const connections = new Connections(server, unsentLimits);
  server.on('request', (request, response) => {
    connections.add(response);
    listener(request, response);
  });
  // Only WebSockets come here (messages.ts).
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
    // Node reports it once.
    else if (isPending && response.req.state?.isLongLived && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return;
    // A complete request came before. It runs, and the refusal must not be taken for its answer.
    else if (isPending && response.req.complete) response.once('finish', refuse);
    else if (isPending && response.headersSent) socket.destroy();
    else refuse();
  });
  return Object.assign(server, { closeSilent: (forMs: number) => connections.closeSilent(forMs) });
}

/** Ends a connection with this text, and releases it even if the other side never does. */
function endSoon(socket: Duplex, text?: string): void {
  socket.end(text);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function lastHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, Connection: 'close' };
}

/** Formats a refusal for a connection that has no response object. */
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

import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../domain/rules/errors.js';
import type { Messages } from './messages.js';
import { createRequestId } from './request-id.js';
import { JSON_TYPE } from './send-json.js';

export interface Timeouts {
  /** From the first byte of a request, or from its connection, to the end of its head. */
  headersMs: number;
  /** To the end of its body. */
  requestMs: number;
  /** How often connections are looked at: a cut comes so much later at most. */
  checkEveryMs: number;
}

const TIMEOUTS: Timeouts = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 2_000 };
/** Of the request line and all headers together. */
const MAX_HEADER_BYTES = 16_384;

const lastAnswer = Symbol('the last answer begun on a connection');
type Answered = Duplex & { [lastAnswer]?: ServerResponse };

interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
}

const MALFORMED: Refusal = { status: 400, code: 'invalid_request', message: 'this is not valid HTTP' };
/** What Node's parser refuses otherwise than with 400. */
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
    message: `address and headers may be ${MAX_HEADER_BYTES / 1_024} kB at most`,
  },
};
const UNMET_EXPECTATION: Refusal = { status: 417, code: 'invalid_request', message: 'Expect may be 100-continue only' };

/** A server that answers in JSON also what never becomes a request: malformed, too slow, too large a head. */
export function createHttpServer(messages: Messages, listener: RequestListener, timeouts = TIMEOUTS): Server {
  const server = createServer({
    ...messages,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node's own refusal has no body; the app refuses instead.
    requireHostHeader: false,
  });
  server.on('request', (request, response) => {
    (request.socket as Answered)[lastAnswer] = response;
    listener(request, response);
  });
  server.on('checkExpectation', (_request, response) => {
    response.writeHead(UNMET_EXPECTATION.status, headersOf(UNMET_EXPECTATION)).end(bodyOf(UNMET_EXPECTATION));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = (socket as Answered)[lastAnswer];
    const isOwed = answer !== undefined && !answer.writableFinished;
    const tell = () => socket.end(rawAnswer(REFUSALS[error.code ?? ''] ?? MALFORMED));
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    // A whole request came before: it runs, and what is told it must not be taken for its answer.
    else if (isOwed && answer.req.complete) answer.once('finish', tell);
    else if (isOwed && answer.headersSent) socket.destroy();
    else tell();
  });
  return server;
}

function rawAnswer(refusal: Refusal): string {
  const head = Object.entries(headersOf(refusal)).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${head.join('')}\r\n${bodyOf(refusal)}`;
}

function headersOf(refusal: Refusal): Record<string, string | number> {
  return {
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(bodyOf(refusal)),
    'X-Request-Id': createRequestId(),
    Connection: 'close',
  };
}

function bodyOf({ code, message }: Refusal): string {
  return JSON.stringify({ error: { code, message } });
}

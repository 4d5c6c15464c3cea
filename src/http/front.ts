import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import proxyAddr from 'proxy-addr';
import type { ErrorCode } from '../domain/rules/errors.js';
import { headFault } from './check-head.js';
import { answerTypeOf } from './graphql-request.js';
import type { PublicAnswers } from './public-answers.js';

/** A GraphQL request with a longer body is never answered from what is kept. */
const MAX_KEPT_QUERY_BYTES = 8_000;
const JSON_BODY = /^application\/json *(; *charset=utf-8)?$/i;

export interface FrontOptions {
  app: RequestListener;
  answers: PublicAnswers;
  /** True when it answered the request itself. */
  cors(request: IncomingMessage, response: ServerResponse): boolean;
  graphqlPath: string;
  log: Logger;
  /** Whether an address (that is so many hops away) is a proxy whose X-Forwarded-For is believed. */
  isTrusted(address: string, hop: number): boolean;
}

/** A request whose answer may be kept, once it is made. */
interface Wanted {
  key: string;
  version: number;
}

const wanted = new WeakMap<IncomingMessage, Wanted>();

/** How and since when an answer to this request is to be kept; undefined when it is not. */
export function wantedOf(request: IncomingMessage): Wanted | undefined {
  return wanted.get(request);
}

/** What every request meets first: its name, its log line, its head's check, CORS, and a public answer if one is kept. */
export function createFront(options: FrontOptions): RequestListener {
  const { app, answers, cors, graphqlPath } = options;
  const logRequest = options.log.isLevelEnabled('info') ? requestLog(options) : null;

  /** The kept answer; else notes how the one to be made is to be kept. */
  const find = (request: IncomingMessage, key: string) => {
    const answer = answers.find(key);
    if (answer === undefined) wanted.set(request, { key, version: answers.version });
    return answer;
  };

  return (request, response) => {
    request.id = randomUUID();
    response.setHeader('X-Request-Id', request.id as string);
    logRequest?.(request, response);
    const fault = headFault(request);
    if (fault !== null) return refuse(response, fault);
    if (cors(request, response)) return;
    if (request.method === 'GET' || request.method === 'HEAD') {
      const answer = find(request, `GET ${request.url}`);
      if (answer === undefined) app(request, response);
      else answers.send(request, response, answer);
    } else if (mayBeKept(request, graphqlPath)) {
      readWhole(request, (body) => {
        const answer = body && find(request, `${answerTypeOf(request.headers.accept)} ${body.toString('latin1')}`);
        if (answer) sendJson(response, answer.type, answer.body);
        else app(request, response);
      });
    } else app(request, response);
  };
}

/** A caller without a key who posts a document of ordinary size, as JSON. */
function mayBeKept({ method, url, headers }: IncomingMessage, graphqlPath: string): boolean {
  return (
    method === 'POST' &&
    url === graphqlPath &&
    headers.authorization === undefined &&
    headers['content-encoding'] === undefined &&
    Number(headers['content-length']) <= MAX_KEPT_QUERY_BYTES &&
    JSON_BODY.test(headers['content-type'] ?? '')
  );
}

/**
 * The body, if all of it came with the head, as it does unless it is long or slow; else null. Either way the stream
 * still holds it for the next reader.
 */
function readWhole(request: IncomingMessage, then: (body: Buffer | null) => void): void {
  const length = Number(request.headers['content-length']);
  if (length === 0) {
    then(null);
    return;
  }
  request.once('readable', () => {
    const body: Buffer | null = request.read(length);
    if (body !== null) request.unshift(body);
    then(body?.length === length ? body : null);
  });
}

function sendJson(response: ServerResponse, type: string, body: Buffer): void {
  response.writeHead(200, ['Content-Type', type, 'Content-Length', String(body.length)]).end(body);
}

function refuse(response: ServerResponse, message: string): void {
  const body = JSON.stringify({ error: { code: 'invalid_request' satisfies ErrorCode, message } });
  const type = 'application/json; charset=utf-8';
  const headers = ['Content-Type', type, 'Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'];
  response.writeHead(400, headers).end(body);
}

/** One line for each request. Headers and bodies stay out of it: they hold keys. */
function requestLog({ log, isTrusted }: FrontOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return pinoHttp({
    logger: log,
    genReqId: (request) => request.id,
    serializers: {
      req: ({ id, method, url, raw }) => ({
        id,
        method,
        path: withoutKeys(String(url).split('?')[0]!),
        address: proxyAddr(raw, isTrusted),
      }),
      res: ({ statusCode }) => ({ statusCode }),
    },
  });
}

/** A key pasted where an id belongs must not reach the log either. */
function withoutKeys(path: string): string {
  return path.replace(/gpu_live_\w*/g, 'gpu_live_…');
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import proxyAddr from 'proxy-addr';
import type { ErrorCode } from '../domain/rules/errors.js';
import { headFault } from './check-head.js';
import { type Headers, PREFLIGHT_HEADERS } from './cors.js';
import type { PostGraphql } from './graphql/graphql-post.js';
import { answerTypeOf, STREAM_TYPE } from './graphql/graphql-request.js';
import { type PublicAnswers, VARY } from './public-answers/public-answers.js';
import { createRequestId } from './request-id.js';
import { JSON_TYPE } from './send-json.js';

/** The answer to a GraphQL request with a longer body is not kept. */
const MAX_KEPT_BYTES = 8_000;
/** A longer body is read by Express. */
const MAX_WHOLE_BYTES = 32_000;
const JSON_BODY = /^application\/json *(; *charset=utf-8)?$/i;

export interface FrontOptions {
  app: RequestListener;
  answers: PublicAnswers;
  postGraphql: PostGraphql;
  cors(origin: string | undefined): Headers;
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
  const { app, answers, postGraphql, cors, graphqlPath } = options;
  const logRequest = options.log.isLevelEnabled('info') ? requestLog(options) : null;

  /** The kept answer; else notes how the one to be made is to be kept. What is sent by GET has to be made bytes anyway. */
  const find = (request: IncomingMessage, key: string | undefined) => {
    if (key === undefined) return undefined;
    const answer = answers.find(key);
    const isWanted = answer === undefined && (request.method !== 'POST' || answers.isAskedAgain(key));
    if (isWanted) wanted.set(request, { key, version: answers.version });
    return answer;
  };

  return (request, response) => {
    const id = createRequestId();
    request.id = id;
    const headers = ['X-Request-Id', id, ...cors(request.headers.origin)];
    const pass = (body: Buffer | null = null) => {
      for (let index = 0; index < headers.length; index += 2) response.setHeader(headers[index]!, headers[index + 1]!);
      if (body === null || !postGraphql(request, response, body)) app(request, response);
    };
    logRequest?.(request, response);
    const fault = headFault(request);
    if (fault !== null) refuse(response, headers, fault);
    else if (request.method === 'OPTIONS') response.writeHead(204, [...headers, ...PREFLIGHT_HEADERS]).end();
    else if (request.method === 'GET' || request.method === 'HEAD') {
      const answer = find(request, request.url);
      if (answer === undefined) pass();
      else {
        const reply = answers.replyTo(request, answer);
        response.writeHead(reply.status, [...headers, 'Vary', VARY, ...reply.headers]).end(reply.body);
      }
    } else if (isOrdinaryPost(request, graphqlPath)) {
      readWhole(request, (body) => {
        const answer = body && find(request, keyOfPost(request, body));
        if (answer) sendJson(response, headers, answer.type, answer.body);
        else pass(body);
      });
    } else pass();
  };
}

/** JSON of ordinary size. */
function isOrdinaryPost({ method, url, headers }: IncomingMessage, graphqlPath: string): boolean {
  return (
    method === 'POST' &&
    url === graphqlPath &&
    headers['content-encoding'] === undefined &&
    Number(headers['content-length']) <= MAX_WHOLE_BYTES &&
    JSON_BODY.test(headers['content-type'] ?? '')
  );
}

/** Undefined for what is never kept: a key's answers, those to long documents, and event streams. */
function keyOfPost({ headers }: IncomingMessage, body: Buffer): string | undefined {
  if (headers.authorization !== undefined || body.length > MAX_KEPT_BYTES) return undefined;
  const type = answerTypeOf(headers.accept);
  return type === undefined || type === STREAM_TYPE ? undefined : `POST ${type} ${body.toString('latin1')}`;
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

function sendJson(response: ServerResponse, headers: Headers, type: string, body: Buffer): void {
  response.writeHead(200, [...headers, 'Content-Type', type, 'Content-Length', String(body.length)]).end(body);
}

function refuse(response: ServerResponse, headers: Headers, message: string): void {
  const body = JSON.stringify({ error: { code: 'invalid_request' satisfies ErrorCode, message } });
  const own = ['Content-Type', JSON_TYPE, 'Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'];
  response.writeHead(400, [...headers, ...own]).end(body);
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

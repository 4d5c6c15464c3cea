import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { HeadFault } from './check-head.js';
import { type Headers, preflightHeaders } from './cors.js';
import { sendError } from './error-envelope.js';
import { type PublicAnswer, type PublicAnswers, Ticket, VARY } from './public-answers/public-answers.js';
import type { RequestIds } from './request-id.js';
import type { LogRequest } from './request-log.js';
import { createRequestState } from './request-state.js';
import type { Tracer } from './tracer.js';

export interface PipelineOptions {
  requestIds: RequestIds;
  /** Null if requests are not logged. */
  logRequest: LogRequest | null;
  checkHead(request: IncomingMessage): HeadFault | null;
  cors(origin: string | undefined): Headers;
  answers: PublicAnswers;
  graphql: RequestListener;
  isGraphql(request: IncomingMessage): boolean;
  /** Every other route. */
  app: RequestListener;
  webPorts: WebPorts;
  /** Null when nothing is traced. */
  tracer: Tracer | null;
}

/** Requests for the hosts of instances. */
export interface WebPorts {
  /** Undefined for the gateway's own host; `serve` answers all others. */
  siteOf(request: IncomingMessage): object | null | undefined;
  serve(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * Handles every request in order: its state and log line, the check of its head, CORS unless it is for an instance, and
 * then one of three ways.
 */
export function createPipeline(options: PipelineOptions): RequestListener {
  const { requestIds, logRequest, checkHead, cors, answers, graphql, isGraphql, app, webPorts, tracer } = options;
  return (request, response) => {
    const id = requestIds();
    request.state = createRequestState(id);
    logRequest?.(request, response);
    if (tracer === null) answer(request, response);
    else tracer.request(request, response, () => answer(request, response));
  };

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { id } = request.state;
    const fault = checkHead(request);
    if (webPorts.siteOf(request) !== undefined && fault === null) {
      webPorts.serve(request, response);
      return;
    }
    const headers = ['X-Request-Id', id, ...cors(request.headers.origin)];
    if (fault !== null) {
      setHeaders(response, headers);
      sendError(response, fault, fault.closes ? { Connection: 'close' } : {});
    } else if (request.method === 'OPTIONS') {
      const requested = request.headers['access-control-request-headers'];
      response.writeHead(204, [...headers, ...preflightHeaders(requested)]).end();
    } else if (isGraphql(request)) {
      setHeaders(response, headers);
      graphql(request, response);
    } else {
      const cached = lookup(request, answers);
      if (cached !== null) sendCached(request, response, headers, cached);
      else {
        setHeaders(response, headers);
        app(request, response);
      }
    }
  }

  function sendCached(
    request: IncomingMessage,
    response: ServerResponse,
    headers: Headers,
    answer: PublicAnswer,
  ): void {
    request.state.route = answer.route;
    const reply = answers.replyTo(request, answer);
    response.writeHead(reply.status, [...headers, 'Vary', VARY, ...reply.headers]).end(reply.body);
  }
}

/** Returns the cached answer to a GET or HEAD; null without one, and the route may then cache its answer. */
function lookup({ method, url, state }: IncomingMessage, answers: PublicAnswers): PublicAnswer | null {
  if (method !== 'GET' && method !== 'HEAD') return null;
  const found = answers.lookupPath(url!);
  if (!(found instanceof Ticket)) return found;
  state.ticket = found;
  return null;
}

function setHeaders(response: ServerResponse, headers: Headers): void {
  for (let index = 0; index < headers.length; index += 2) response.setHeader(headers[index]!, headers[index + 1]!);
}

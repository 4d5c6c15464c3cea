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
  /** Logs requests. Null if they are not logged. */
  logRequest: LogRequest | null;
  checkHead(request: IncomingMessage): HeadFault | null;
  cors(origin: string | undefined): Headers;
  answers: PublicAnswers;
  graphql: RequestListener;
  isGraphql(request: IncomingMessage): boolean;
  /** Handles all other routes. */
  app: RequestListener;
  webPorts: WebPorts;
  /** Creates the spans. Null if tracing is disabled. */
  tracer: Tracer | null;
}

/** Handles requests for instances' hostnames. */
export interface WebPorts {
  /** Returns undefined for the gateway's own host. Requests for any other host are passed to `serve`. */
  siteOf(request: IncomingMessage): object | null | undefined;
  serve(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * Creates the listener for all requests. It creates the request's state and log line, checks the head, and sets the
 * CORS headers unless the request is for an instance. It then passes the request to a cached response, /graphql or
 * the app.
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

/**
 * Returns the cached response to a GET or HEAD, or null if there is none. In that case, the route may cache its
 * response.
 */
function lookup({ method, url = '', state }: IncomingMessage, answers: PublicAnswers): PublicAnswer | null {
  if (method !== 'GET' && method !== 'HEAD') return null;
  const found = answers.lookupPath(url);
  if (!(found instanceof Ticket)) return found;
  state.ticket = found;
  return null;
}

function setHeaders(response: ServerResponse, headers: Headers): void {
  for (let index = 0; index < headers.length; index += 2) response.setHeader(headers[index]!, headers[index + 1]!);
}

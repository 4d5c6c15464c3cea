import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type GraphQLError, OperationTypeNode } from 'graphql';
import { recordRefusal } from '../error-envelope.js';
import { type PublicAnswer, type PublicAnswers, Ticket } from '../public-answers/public-answers.js';
import { bodyFault } from '../read-json.js';
import type { Identify } from '../request-state.js';
import { createExecutor, type ExecutorOptions } from './executor.js';
import { createErrorMask } from './graphql-errors.js';
import { createAnswerTypes, GRAPHQL_PATH, notAcceptable, readParameters, STREAM_ANSWER } from './read-request.js';
import { contentType, createSendResult, isPlain, type Results, refusalType, textOf } from './send-result.js';

export interface GraphqlOptions extends ExecutorOptions {
  answers: PublicAnswers;
}

/**
 * Creates the listener for all requests to /graphql, sent with POST or GET, whose responses are JSON or events. It
 * reads and checks the request, and sends the cached public response if there is one. Otherwise, it applies the rate
 * limit, executes the operation and sends the result.
 */
export function createGraphql(options: GraphqlOptions): RequestListener {
  const { answers, identify, log, tracer } = options;
  const { execute, fetchAPI } = createExecutor(options);
  const answerTypeOf = createAnswerTypes();
  const sendResult = createSendResult(fetchAPI);
  const maskError = createErrorMask(log);

  return (request, response) => {
    request.state.route = GRAPHQL_PATH;
    if (request.method === 'GET' || request.method === 'HEAD') varyByAccept(response);
    const type = answerTypeOf(request.headers.accept);
    answer(request, response, type).catch(async (error: unknown) => {
      const masked = maskError(bodyFault(error) ?? error);
      recordRefusals(request, { errors: [masked] });
      if (response.headersSent) response.destroy();
      else await sendResult(response, refusalType(type), { errors: [masked] });
    });
  };

  async function answer(request: IncomingMessage, response: ServerResponse, type: string | undefined): Promise<void> {
    if (type === undefined) throw notAcceptable();
    const parameters = await readParameters(request, response);
    const found = (await isCacheable(request, type, identify)) ? answers.lookupOperation(type, parameters) : null;
    if (found !== null && !(found instanceof Ticket)) return sendCached(request, response, found);
    const result = await execute({ req: request, res: response, type }, parameters);
    recordRefusals(request, result);
    if (Symbol.asyncIterator in result) tracer?.opened(request);
    const { operation } = request.state;
    if (found !== null && operation?.isPublicQuery && isPlain(result)) {
      const source = { type: contentType(type), route: GRAPHQL_PATH, operation: operation.name };
      found.keep(textOf(result), source);
    }
    return sendResult(response, type, result);
  }
}

function recordRefusals(request: IncomingMessage, result: Results): void {
  if (Symbol.asyncIterator in result || result.errors === undefined) return;
  for (const error of result.errors) recordRefusal(request, String((error as GraphQLError).extensions?.code));
}

/**
 * Returns whether the response may be cached. With a key or a session, the response and its variables may be private to
 * the account.
 */
async function isCacheable(request: IncomingMessage, type: string, identify: Identify): Promise<boolean> {
  const { method, headers } = request;
  if (method !== 'POST' || headers.authorization !== undefined || type === STREAM_ANSWER) return false;
  return headers.cookie === undefined || (await identify(request)) === null;
}

function sendCached(request: IncomingMessage, response: ServerResponse, { type, body, operation }: PublicAnswer): void {
  request.state.operation = { kind: OperationTypeNode.QUERY, name: operation, isPublicQuery: true, cost: 0 };
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
}

/** Marks the response as varying by Accept, because GraphiQL's page has the same URL. */
function varyByAccept(response: ServerResponse): void {
  const vary = response.getHeader('Vary');
  response.setHeader('Vary', vary === undefined ? 'Accept' : `${vary}, Accept`);
}

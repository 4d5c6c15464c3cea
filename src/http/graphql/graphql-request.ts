import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { ErrorCode } from '../../domain/rules/errors.js';
import { bodyFault, createJsonReader } from '../read-json.js';

export const STREAM_TYPE = 'text/event-stream';
/** What an answer may be, the preferred first. */
const ANSWER_TYPES = ['application/json', 'application/graphql-response+json', STREAM_TYPE];
const JSON_TYPE = 'application/json';
const PARAMETERS = ['query', 'operationName'];
const JSON_PARAMETERS = ['variables', 'extensions'];

const MAX_KNOWN_HEADERS = 200;
const answerTypes = new LRUCache<string, { type: string | undefined }>({ max: MAX_KNOWN_HEADERS });

/** The type that a caller with this Accept header likes best; undefined when none will do. */
export function answerTypeOf(accept = '*/*'): string | undefined {
  const known = answerTypes.get(accept);
  if (known !== undefined) return known.type;
  const type = new Negotiator({ headers: { accept } }).mediaType(ANSWER_TYPES);
  answerTypes.set(accept, { type });
  return type;
}

/** The part of an error's extensions that becomes the head of the answer. */
export interface HttpExtension {
  status: number;
  headers: Record<string, string>;
}

/** A mutation must not run whose answer nobody can read: what is accepted is settled before anything else. */
const settleAnswerType: RequestHandler = (request, _response, next) => {
  const type = answerTypeOf(request.headers.accept);
  // Also the type of the refusal.
  request.headers.accept = type ?? JSON_TYPE;
  if (type === undefined) throw refusal(406, `answers are ${ANSWER_TYPES.join(' or ')}`);
  next();
};

/**
 * An operation comes in the query string of a GET or in the JSON body of a POST, and in no other way: the form of another
 * site is sent without anybody's consent.
 */
const readParameters: RequestHandler = (request, response, next) => {
  if (request.method === 'GET') response.locals.parameters = withQuery(fromQueryString(request.query));
  if (request.method === 'POST') response.locals.parameters = withQuery(fromBody(request));
  next();
};

/** What a request to GraphQL meets before Yoga. */
export const graphqlRequest: readonly RequestHandler[] = [
  settleAnswerType,
  createJsonReader(JSON_TYPE),
  readParameters,
];

/** Hands Yoga what was read of the request, in place of its own reading. Other methods are Yoga's to refuse. */
export function useReadRequest(): Plugin<object, { res: Response }> {
  return {
    onRequestParse({ serverContext, setRequestParser }) {
      const { locals } = serverContext.res;
      if ('parameters' in locals) setRequestParser(() => locals.parameters);
    },
  };
}

/** Answers what is refused before Yoga as GraphQL tells errors. */
export function answerRefusal(tell: (error: unknown) => Error): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const { message, extensions } = tell(bodyFault(error) ?? error) as GraphQLError;
    const { http, ...told } = extensions as { http: HttpExtension };
    response.status(http.status).set(http.headers);
    response.type(request.headers.accept === JSON_TYPE ? JSON_TYPE : ANSWER_TYPES[1]!);
    response.send(JSON.stringify({ errors: [{ message, extensions: told }] }));
  };
}

function withQuery(parameters: unknown): unknown {
  const isObject = typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters);
  if (!isObject) throw refusal(400, 'the body must be one JSON object: one operation');
  const { query } = parameters as { query?: unknown };
  if (typeof query !== 'string') throw refusal(400, 'query is required: the text of a GraphQL document');
  return parameters;
}

function fromBody(request: Request): unknown {
  const type = request.is(JSON_TYPE);
  if (type === null) throw refusal(400, 'a body is required');
  if (type === false) throw refusal(415, `the body must be ${JSON_TYPE}`);
  return request.body;
}

function fromQueryString(query: Request['query']): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  for (const name of [...PARAMETERS, ...JSON_PARAMETERS]) {
    const text = query[name];
    if (Array.isArray(text)) throw refusal(400, `${name} may be given once`);
    if (text === undefined || text === '') continue;
    parameters[name] = JSON_PARAMETERS.includes(name) ? fromJson(name, text as string) : text;
  }
  return parameters;
}

function fromJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refusal(400, `${name} is not JSON`, 'invalid_json');
  }
}

function refusal(status: number, message: string, code: ErrorCode = 'invalid_request'): GraphQLError {
  const http: HttpExtension = { status, headers: {} };
  return new GraphQLError(message, { extensions: { code, status, http } });
}

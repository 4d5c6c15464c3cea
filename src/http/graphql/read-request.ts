import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { JsonTooLarge, parseJson } from '../../std/untrusted/json.js';
import { parseQuery } from '../parse-query.js';
import { preferredType } from '../preferred-type.js';
import { createJsonReader } from '../read-json.js';
import { type HttpExtension, refusal } from './graphql-errors.js';

export const GRAPHQL_PATH = '/graphql';
export const JSON_ANSWER = 'application/json';
/** The content type that gives every error its own status (GraphQL over HTTP). */
export const RESPONSE_ANSWER = 'application/graphql-response+json';
export const STREAM_ANSWER = 'text/event-stream';
/** Response content types, most preferred first. */
const ANSWER_TYPES = [JSON_ANSWER, RESPONSE_ANSWER, STREAM_ANSWER];
const TEXT_PARAMETERS = ['query', 'operationName'];
const JSON_PARAMETERS = ['variables', 'extensions'];
const PARAMETERS: ReadonlySet<string> = new Set([...TEXT_PARAMETERS, ...JSON_PARAMETERS]);

const MAX_KNOWN_HEADERS = 200;
const BAD_REQUEST = 400;
const METHOD_NOT_ALLOWED = 405;
const NOT_ACCEPTABLE = 406;
const UNSUPPORTED_MEDIA_TYPE = 415;

export function isGraphql({ url = '' }: IncomingMessage): boolean {
  if (url.startsWith(GRAPHQL_PATH))
    return url.length === GRAPHQL_PATH.length || '?#'.includes(url.charAt(GRAPHQL_PATH.length));
  // A request target may be an absolute URL (RFC 9112, 3.2.2).
  return !url.startsWith('/') && URL.canParse(url) && new URL(url).pathname === GRAPHQL_PATH;
}

/**
 * Returns a function that finds the content type that an Accept header prefers. It returns undefined if none matches.
 */
export function createAnswerTypes(): (accept: string | undefined) => string | undefined {
  const known = new LRUCache<string, { type: string | undefined }>({ max: MAX_KNOWN_HEADERS });
  return (accept = '*/*') => {
    const found = known.get(accept);
    if (found !== undefined) return found.type;
    const type = preferredType(accept, ANSWER_TYPES);
    known.set(accept, { type });
    return type;
  };
}

/**
 * Returns the error for a request whose sender can't read the response. A mutation must not run unless its result can
 * be seen.
 */
export function notAcceptable(): GraphQLError {
  return refusal(`Accept must include ${ANSWER_TYPES.join(' or ')}`, { status: NOT_ACCEPTABLE });
}

const readJson = createJsonReader();

/**
 * Reads an operation's parameters from the query string of a GET or the JSON body of a POST. Forms are rejected,
 * because browsers submit forms from any site without a preflight.
 */
export async function readParameters(request: IncomingMessage, response: ServerResponse): Promise<GraphQLParams> {
  if (request.method === 'GET') return checked(fromQueryString(request.url!));
  if (request.method === 'POST') return checked(await fromBody(request, response));
  throw methodNotAllowed();
}

/**
 * Returns the error that makes Apollo's clients send the whole document. They expect this message and code, and only
 * with status 200.
 */
function persistedQueryNotSupported(): GraphQLError {
  const http: HttpExtension = { status: 200, headers: {} };
  return new GraphQLError('PersistedQueryNotSupported', {
    extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', http },
  });
}

function methodNotAllowed(): GraphQLError {
  const http: HttpExtension = { status: METHOD_NOT_ALLOWED, headers: { Allow: 'GET, POST' } };
  // Yoga uses this code for such errors.
  const extensions = { code: 'BAD_REQUEST', http };
  return new GraphQLError('GraphQL only supports GET and POST requests.', { extensions });
}

function checked(parameters: unknown): GraphQLParams {
  const isObject = typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters);
  if (!isObject) throw badRequest('the body must be one JSON object: one operation');
  const { query, extensions } = parameters as { query?: unknown; extensions?: { persistedQuery?: unknown } };
  if (query === undefined && extensions?.persistedQuery !== undefined) throw persistedQueryNotSupported();
  if (typeof query !== 'string') throw badRequest('query is required: the text of a GraphQL document');
  return withoutOthers(parameters);
}

/**
 * Removes unknown members. Clients add their own, such as `operationType`, and a server must ignore those it doesn't
 * know (GraphQL over HTTP).
 */
function withoutOthers(parameters: object): GraphQLParams {
  if (Object.keys(parameters).every((name) => PARAMETERS.has(name))) return parameters;
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => PARAMETERS.has(name)));
}

async function fromBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const { 'content-length': length, 'transfer-encoding': coding, 'content-type': type = '' } = request.headers;
  if (length === undefined && coding === undefined) throw badRequest('a body is required');
  const [name = ''] = type.split(';');
  if (name.trim().toLowerCase() !== JSON_ANSWER) {
    throw refusal(`the body must be ${JSON_ANSWER}`, { status: UNSUPPORTED_MEDIA_TYPE });
  }
  await new Promise<void>((resolve, reject) => {
    readJson(request, response, (error) => (error === undefined ? resolve() : reject(error)));
  });
  return request.body;
}

function fromQueryString(url: string): Record<string, unknown> {
  const query = parseQuery(/^[^#?]*\?([^#]*)/.exec(url)?.[1] ?? '');
  const parameters: Record<string, unknown> = {};
  for (const name of [...TEXT_PARAMETERS, ...JSON_PARAMETERS]) {
    const text = query[name];
    if (Array.isArray(text)) throw badRequest(`${name} may occur only once`);
    if (text === undefined || text === '') continue;
    parameters[name] = JSON_PARAMETERS.includes(name) ? fromJson(name, text) : text;
  }
  return parameters;
}

function fromJson(name: string, text: string): unknown {
  try {
    return parseJson(Buffer.from(text));
  } catch (error) {
    const why = error instanceof JsonTooLarge ? error.message : 'it is not JSON';
    throw refusal(`${name}: ${why}`, { status: BAD_REQUEST, code: 'invalid_json' });
  }
}

function badRequest(message: string): GraphQLError {
  return refusal(message, { status: BAD_REQUEST });
}

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { ExecutionResult, GraphQLSchema } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { inputFault, shortened } from '../domain/kernel/input-fault.js';
import { nearestName } from '../std/nearest-name.js';
import { required } from '../std/required.js';
import { type PreparedInput, type PreparedRoute, prepare } from './prepare.js';
import { type Input, routes } from './routes.js';

/** An error from the REST layer itself. The HTTP layer maps its code to a status. */
export class RestRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An error from the domain, which uses GraphQL's names for inputs. */
export class RestFault extends Error {
  readonly originalError: Error;
  readonly #inputs: PreparedRoute['inputs'];

  constructor(error: Error, { inputs }: Pick<PreparedRoute, 'inputs'>) {
    super(error.message);
    this.originalError = error;
    this.#inputs = inputs;
  }

  /** Returns the message, naming the invalid input as REST does. */
  renamed(message: string, field: string): string {
    const input = this.#inputs.find(({ variable }) => variable === field);
    return input === undefined ? message : message.replace(new RegExp(`\\b${field}\\b`), () => input.name);
  }
}

/** Hooks that the HTTP layer provides for the routes. */
export interface RestHooks {
  /** Called with the matched route's path template before its handlers run. */
  matched(request: Request, path: string): void;
  /** These checks run in the given order, before the input is read. */
  key: RequestHandler;
  rateLimit: RequestHandler;
  /** Checks whether the key may use a root field, given as `Query.name` or `Mutation.name`. */
  scope(operation: string): RequestHandler;
  readBody: RequestHandler;
  /** Runs a route's prepared operation. */
  run<T>(operationId: string, run: () => T): T;
  /** Returns the same context as a GraphQL request would have. */
  contextOf(request: Request, response: Response): Promise<object>;
  send(response: Response, status: number, body: object): void;
  sendText(response: Response, status: number, type: string, text: string): void;
  /** Sends a response with status 200 and the same body for all callers. */
  sendPublic(request: Request, response: Response, body: object): void;
}

/** Matches JSON numbers, including ones with a sign or leading zeros. */
const DECIMAL = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const WHOLE = /^[+-]?\d{1,15}$/;
const PLACES = { query: 'query parameter', body: 'body member', path: 'path parameter', header: 'header' } as const;

/** A route with its compiled document. */
export interface CompiledRoute extends PreparedRoute {
  query: Run;
}

export function prepareRoutes(schema: GraphQLSchema): PreparedRoute[] {
  return routes.map((route) => prepare(schema, route));
}

export function compileRoutes(schema: GraphQLSchema): CompiledRoute[] {
  return prepareRoutes(schema).map((route) => ({ ...route, query: compiled(schema, route) }));
}

/**
 * Creates the router for the `/v1` routes, each of which runs its document. On a known path, other methods are
 * rejected.
 */
export function createRest(prepared: readonly CompiledRoute[], hooks: RestHooks): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const paths = new Set(prepared.map((route) => route.path));
  for (const path of paths) {
    router.all(expressPath(path), (request, _response, next) => {
      hooks.matched(request, path);
      next();
    });
  }
  for (const route of prepared) {
    const guards = route.needsKey ? [hooks.key, hooks.rateLimit, hooks.scope(route.rootName)] : [];
    const checkAgain = route.needsKey ? [hooks.key] : [];
    const body = route.method === 'POST' ? [hooks.readBody, ...checkAgain] : [];
    const verb = route.method.toLowerCase() as 'get' | 'post' | 'delete';
    router[verb](expressPath(route.path), ...guards, ...body, runner(route, hooks));
  }
  for (const path of paths) {
    const methods = prepared.filter((route) => route.path === path).map((route) => route.method);
    const allowed = [...(methods.includes('GET') ? ['HEAD'] : []), ...methods, 'OPTIONS'].sort().join(', ');
    router.all(expressPath(path), (request, response) => {
      response.setHeader('Allow', allowed);
      throw new RestRefusal('method_not_allowed', `${request.method} is not allowed here; allowed: ${allowed}`);
    });
  }
  return router;
}

function runner(route: CompiledRoute, hooks: RestHooks): RequestHandler {
  const { query } = route;
  return async (request, response) => {
    const variableValues = readInputs(route, request);
    const contextValue = await hooks.contextOf(request, response);
    const { data, errors } = await hooks.run(route.operationId, () => query(undefined, contextValue, variableValues));
    if (errors !== undefined) throw new RestFault(required(errors[0], 'error'), route);
    const { result } = required(data, 'data of a response without errors');
    if (result === null) throw new RestRefusal('not_found', `no such ${route.objectName}`);
    const body = route.respond(result);
    if (route.envelope.kind === 'text') hooks.sendText(response, route.status, route.envelope.type, body as string);
    else if (route.isCached) hooks.sendPublic(request, response, body as object);
    else hooks.send(response, route.status, body as object);
  };
}

type Run = (root: unknown, context: object, variables: object) => ExecutionResult | Promise<ExecutionResult>;

function compiled(schema: GraphQLSchema, { operationId, document }: PreparedRoute): Run {
  const query = compileQuery(schema, document);
  if (!isCompiledQuery(query)) throw new Error(`route ${operationId}: ${query.errors?.[0]?.message}`);
  return query.query as Run;
}

function readInputs(route: PreparedRoute, request: Request): Record<string, unknown> {
  const sources = {
    query: request.query,
    path: request.params,
    body: objectBody(request.body),
    header: request.headers,
  };
  const variables: Record<string, unknown> = {};
  for (const input of route.inputs) {
    const source = sources[input.in] as Record<string, unknown>;
    const name = input.in === 'header' ? input.name.toLowerCase() : input.name;
    const value = readInput(input, Object.hasOwn(source, name) ? source[name] : undefined, () =>
      hintFor(route, sources.body, name),
    );
    if (value !== undefined) variables[input.variable] = value;
  }
  refuseUnknown(route, 'query', sources.query);
  refuseUnknown(route, 'body', sources.body);
  return variables;
}

/**
 * Rejects unknown parameters. Ignoring one could rent the wrong machine, for example if a filter's name is misspelled.
 */
function refuseUnknown(route: PreparedRoute, place: 'query' | 'body', values: object): void {
  const known = namesOf(route, place);
  const unknown = Object.keys(values).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const what = `unknown ${PLACES[place]} ${shortened(unknown)}`;
  const near = nearestName(unknown, known);
  if (near !== null) throw new RestRefusal('invalid_request', `${what}; did you mean ${near}?`);
  const elsewhere = route.inputs.find((input) => nearestName(unknown, [input.name]) !== null);
  const hint =
    elsewhere !== undefined
      ? `did you mean the ${PLACES[elsewhere.in]} ${elsewhere.name}?`
      : known.length === 0
        ? 'this route has none'
        : `known: ${known.join(', ')}`;
  throw new RestRefusal('invalid_request', `${what}; ${hint}`);
}

/** Maximum number of unknown body members compared with known ones, because a body can have thousands. */
const MAX_COMPARED = 50;

/** Returns a hint for the error about a missing required member if an unknown member has a similar name. */
function hintFor(route: PreparedRoute, body: object, missing: string): string {
  const known = namesOf(route, 'body');
  const values = Object.keys(body).slice(0, MAX_COMPARED);
  const similar = values.find((name) => !known.includes(name) && nearestName(name, known) === missing);
  return similar === undefined ? '' : `; ${shortened(similar)} is unknown`;
}

function namesOf(route: PreparedRoute, place: Input['in']): string[] {
  return route.inputs.filter((input) => input.in === place).map(({ name }) => name);
}

/** Returns the variable's value, or undefined if it is omitted or null. */
function readInput(input: PreparedInput, raw: unknown, hint: () => string): unknown {
  const { field, name } = input;
  if (raw === undefined || raw === null || (raw === '' && field.missing !== undefined)) {
    if (input.required) throw new RestRefusal(field.missing ?? 'invalid_request', `${name} is required${hint()}`);
    return undefined;
  }
  if (input.in === 'query' && Array.isArray(raw))
    throw new RestRefusal('invalid_request', `${name} can be given only once`);
  if (input.values !== undefined) return readSpelled(input, input.values, raw);
  const value = input.in === 'query' ? fromText(input, raw as string) : raw;
  const parsed = field.schema.safeParse(value);
  if (!parsed.success) {
    const message = inputFault(name, field.must, parsed.error.issues);
    throw new RestRefusal(field.refusal ?? 'invalid_request', message);
  }
  return parsed.data;
}

function readSpelled({ name, field }: PreparedInput, values: Readonly<Record<string, string>>, raw: unknown): string {
  const value = typeof raw === 'string' && Object.hasOwn(values, raw) ? values[raw] : undefined;
  if (value !== undefined) return value;
  const list = Object.keys(values).join(', ');
  throw new RestRefusal(field.refusal ?? 'invalid_request', `${name} must be one of ${list}`);
}

/** Parses a number. Returns any other string unchanged, so that it fails the bounds check. */
function fromText({ type }: PreparedInput, text: string): unknown {
  const pattern = { Int: WHOLE, Float: DECIMAL }[type];
  return pattern?.test(text) ? Number(text) : text;
}

function objectBody(body: unknown): object {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
}

function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

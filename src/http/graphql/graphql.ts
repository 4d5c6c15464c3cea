import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { type ExecutionResult, GraphQLError, type GraphQLSchema, getOperationAST } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { Caller } from '../../domain/accounts/api-keys.js';
import type { Deps } from '../../domain/deps.js';
import type { ErrorCode } from '../../domain/rules/errors.js';
import type { GatewayContext } from '../../schema/context.js';
import { describeFault, type Fault } from '../faults.js';
import { wantedOf } from '../front.js';
import type { PublicAnswers } from '../public-answers/public-answers.js';
import { admit } from '../rate-limit/admit.js';
import type { RateLimiter } from '../rate-limit/rate-limit.js';
import { resolverContext } from '../request-state.js';
import { requestCost } from './cost.js';
import { createPostGraphql, type PostGraphql } from './graphql-post.js';
import { answerRefusal, graphqlRequest, type HttpExtension, useReadRequest } from './graphql-request.js';
import { useCompiled } from './use-compiled.js';
import { useIntrospection } from './use-introspection.js';
import { type Begun, boundedCaches, useLimits } from './use-limits.js';
import { useSubscriptions } from './use-subscriptions.js';

interface ServerContext {
  req: IncomingMessage;
  res: ServerResponse;
}

export interface GraphqlOptions {
  deps: Deps;
  schema: GraphQLSchema;
  endpoint: string;
  limiter: RateLimiter;
  identify(request: IncomingMessage): Promise<Caller | null>;
  introspection: boolean;
  answers: PublicAnswers;
  log: Logger;
}

/** Codes that decide the HTTP status when they are all there is to say; for every other refusal it stays 200. */
const TELLING_CODES: ReadonlySet<string> = new Set(['unauthorized', 'unavailable', 'internal']);
/** Of a subscription also that too many are open. */
const REFUSING_CODES: ReadonlySet<string> = new Set([...TELLING_CODES, 'rate_limited']);

const YOGAS_CODE = 'BAD_USER_INPUT';

export interface Graphql {
  /** What a request passes, in order. */
  handlers: (RequestHandler | ErrorRequestHandler)[];
  post: PostGraphql;
}

export function createGraphql(options: GraphqlOptions): Graphql {
  const { deps, schema, endpoint, limiter, identify, introspection, answers, log } = options;
  const maskError = (error: unknown): Error => {
    if (isRequestError(error)) {
      // Variables that do not fit are the one thing that Yoga gives none, or for a subscription one of its own.
      const { code = YOGAS_CODE } = error.extensions;
      if (code === YOGAS_CODE) error.extensions.code = 'invalid_request' satisfies ErrorCode;
      return error;
    }
    const told = asGraphqlError(error, log);
    // Thrown before anything ran, as when the key can't be looked up: no result carries the status.
    if (told.path === undefined) told.extensions.http = httpOf(told);
    return told;
  };
  const yoga = createYoga<ServerContext, GatewayContext>({
    schema,
    graphqlEndpoint: endpoint,
    graphiql: false,
    landingPage: false,
    cors: false,
    batching: false,
    multipart: false,
    logging: false,
    // Read before Yoga.
    maxRequestBodySize: false,
    parserAndValidationCache: boundedCaches(),
    maskedErrors: { maskError },
    context: async ({ req, res }) => resolverContext(deps, await identify(req), res),
    plugins: [
      useReadRequest(),
      useIntrospection(introspection),
      useSubscriptions(schema),
      useLimits(schema),
      useCompiled(schema),
      useRateLimit(schema, limiter, log),
      useStatus(),
      usePublicAnswers(schema, answers),
    ],
  });
  return {
    handlers: [...graphqlRequest, yoga as unknown as RequestHandler, answerRefusal(maskError)],
    post: createPostGraphql(yoga, maskError),
  };
}

/** What GraphQL itself refuses before anything runs (syntax, validation, variables) is told in its own words. */
function isRequestError(error: unknown): error is GraphQLError {
  if (!(error instanceof GraphQLError) || error.path !== undefined) return false;
  return error.originalError == null || error.originalError instanceof GraphQLError;
}

/** A fault as GraphQL tells it: the document's code and the REST status beside the message. */
function asGraphqlError(error: unknown, log: Logger): GraphQLError {
  const { unexpected, code, status, message, field, retryAfterSeconds } = describeFault(error);
  if (unexpected) log.error({ err: error }, 'unexpected error in a resolver');
  const { nodes, source, positions, path } = error instanceof GraphQLError ? error : ({} as Partial<GraphQLError>);
  return new GraphQLError(message, {
    ...(nodes && { nodes }),
    ...(source && { source }),
    ...(positions && { positions }),
    ...(path && { path }),
    extensions: { code, status, ...(field && { field }), ...(retryAfterSeconds && { retryAfterSeconds }) },
  });
}

/** Admits a request whole or refuses it whole, before anything of it runs. */
function useRateLimit(
  schema: GraphQLSchema,
  limiter: RateLimiter,
  log: Logger,
): Plugin<GatewayContext & ServerContext> {
  const admitOperation = async ({ args, setResultAndStopExecution }: Begun) => {
    const { caller, res } = args.contextValue as GatewayContext & ServerContext;
    if (caller === null) return;
    const cost = requestCost(schema, args.document, args.operationName, args.variableValues ?? {});
    try {
      await admit(limiter, caller, cost, res);
    } catch (error) {
      const refusal = asGraphqlError(error, log);
      const limited = refusal.extensions.code === 'rate_limited';
      setResultAndStopExecution({ errors: [refusal], ...(limited && { extensions: { http: httpOf(refusal) } }) });
    }
  };
  return { onExecute: admitOperation, onSubscribe: admitOperation };
}

/** Keeps the answers that anyone may have: of queries without a key, to public fields alone. */
function usePublicAnswers(schema: GraphQLSchema, answers: PublicAnswers): Plugin<GatewayContext & ServerContext> {
  return {
    onExecute: ({ args }) => {
      const { caller, req } = args.contextValue as GatewayContext & ServerContext;
      const wanted = wantedOf(req);
      if (caller !== null || wanted === undefined || req.method !== 'POST') return undefined;
      if (getOperationAST(args.document, args.operationName)?.operation !== 'query') return undefined;
      if (requestCost(schema, args.document, args.operationName, args.variableValues ?? {}) > 0) return undefined;
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result || result.errors !== undefined || result.extensions !== undefined) return;
          const body = JSON.stringify({ data: result.data });
          answers.keep(wanted.key, wanted.version, body, `${req.headers.accept}; charset=utf-8`);
          // Yoga sends what this gives.
          setResult({ ...result, stringify: () => body } as ExecutionResult);
        },
      };
    },
  };
}

/** Sets the HTTP status when no field could be answered, and all for the same reason. */
function useStatus(): Plugin<GatewayContext & ServerContext> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult }) {
        if (Symbol.asyncIterator in result) return;
        const http = statusOf(result);
        if (http !== null) setResult({ ...result, extensions: { ...result.extensions, http } });
      },
    }),
    onSubscribe: () => ({
      onSubscribeResult({ result, setResult }) {
        if (Symbol.asyncIterator in result) return;
        // It was refused: there is nothing else to say.
        const http = statusOf({ ...result, data: null }, REFUSING_CODES);
        if (http !== null) setResult({ ...result, extensions: { ...result.extensions, http } });
      },
    }),
  };
}

function statusOf({ data, errors }: ExecutionResult, codes = TELLING_CODES): HttpExtension | null {
  if (errors === undefined || errors.length === 0 || data === undefined) return null;
  if (data !== null && Object.values(data).some((value) => value !== null)) return null;
  const faults = errors.map((error) => describeFault(error));
  const code = faults[0]!.code;
  if (!codes.has(code) || faults.some((fault) => fault.code !== code)) return null;
  return httpExtension(faults[0]!.status, code, faults[0]!.retryAfterSeconds);
}

function httpOf({ extensions }: GraphQLError): HttpExtension {
  const { code, status, retryAfterSeconds } = extensions as unknown as Fault;
  return httpExtension(status, code, retryAfterSeconds);
}

function httpExtension(status: number, code: string, retryAfterSeconds: number | undefined): HttpExtension {
  return {
    status,
    headers: {
      ...(code === 'unauthorized' && { 'WWW-Authenticate': 'Bearer' }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    },
  };
}

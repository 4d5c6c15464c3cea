import type { RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { Deps } from '../domain/deps.js';
import { recheckTimes } from '../domain/market/recheck.js';
import { DomainError, STATUS_OF } from '../domain/rules/errors.js';
import { formatInstant, type Instant } from '../domain/rules/time.js';
import { createRest, prepareRoutes } from '../rest/adapter.js';
import { openApi } from '../rest/openapi.js';
import { createCors } from './cors.js';
import { describeFault } from './faults.js';
import { createFront, wantedOf } from './front.js';
import { createGraphiql } from './graphiql/graphiql.js';
import { createGraphql } from './graphql/graphql.js';
import type { KeyUses } from './key-uses.js';
import { type Messages, makeOfExpress } from './messages.js';
import { PublicAnswers, VARY } from './public-answers/public-answers.js';
import { admit } from './rate-limit/admit.js';
import type { RateLimiter } from './rate-limit/rate-limit.js';
import type { RedisState } from './rate-limit/redis-buckets.js';
import { bodyFault, createJsonReader } from './read-json.js';
import { createIdentify, resolverContext } from './request-state.js';
import { JSON_TYPE, sendJson } from './send-json.js';

export interface AppOptions {
  deps: Deps;
  schema: GraphQLSchema;
  limiter: RateLimiter;
  /** Null when no Redis is used. */
  redisState: (() => RedisState) | null;
  keyUses: KeyUses;
  log: Logger;
  corsOrigins: '*' | string[];
  introspection: boolean;
  /** Whose X-Forwarded-For is believed: nobody's, that of so many proxies, or that of these addresses. */
  trustProxy: false | number | string[];
  /** Those of the server that this is to listen to. */
  messages: Messages;
  /** Folder of the GraphiQL page's built assets. */
  graphiqlDir: string;
  /** False once the process is asked to end. */
  isServing(): boolean;
}

const GRAPHQL_PATH = '/graphql';

/** Everything a request may meet, in order. */
export function createApp(options: AppOptions): RequestListener {
  const { deps, schema, limiter, keyUses, log } = options;
  const identify = createIdentify(deps, keyUses);
  const routes = prepareRoutes(schema);
  const answers = new PublicAnswers(deps.inventory);
  const { introspection } = options;
  const graphql = createGraphql({
    deps,
    schema,
    endpoint: GRAPHQL_PATH,
    limiter,
    identify,
    introspection,
    answers,
    log,
  });
  const document = openApi(routes, { serverUrl: `${deps.settings.publicUrl}/v1`, refusals: STATUS_OF });

  const app = express();
  makeOfExpress(options.messages, app);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.set('trust proxy', options.trustProxy);

  app.use(mendPath);
  app.use(checkProtocol);
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', readiness(options));
  app.get('/v1/openapi.json', (_request, response) => void response.json(document));
  app.all(['/healthz', '/readyz', '/v1/openapi.json'], refuseMethod);
  app.use(
    '/v1',
    createRest(schema, routes, {
      key: async (request, _response, next) => {
        if ((await identify(request)) === null) throw new DomainError('unauthorized', 'missing or unknown API key');
        next();
      },
      rateLimit: async (request, response, next) => {
        await admit(limiter, (await identify(request))!, 1, response);
        next();
      },
      readBody: createJsonReader(() => true),
      contextOf: async (request, response) => resolverContext(deps, await identify(request), response),
      send: (response, status, body) => sendJson(response, status, JSON_TYPE, JSON.stringify(body)),
      sendPublic: (request, response, body) => {
        const { key, version } = wantedOf(request)!;
        const reply = answers.replyTo(request, answers.keep(key, version, JSON.stringify(body), JSON_TYPE));
        response
          .vary(VARY)
          .writeHead(reply.status, [...reply.headers])
          .end(reply.body);
      },
    }),
  );
  app.get('/', (_request, response) => response.redirect(GRAPHQL_PATH));
  app.use(createGraphiql({ endpoint: GRAPHQL_PATH, assetsDir: options.graphiqlDir }));
  app.all(GRAPHQL_PATH, graphql.handlers);
  app.use((request) => {
    throw new DomainError('no_route', `no such endpoint: ${request.method} ${request.path}`);
  });
  app.use(answerFault(log));
  const isTrusted = app.get('trust proxy fn');
  return createFront({
    app,
    answers,
    postGraphql: graphql.post,
    cors: createCors(options.corsOrigins),
    graphqlPath: GRAPHQL_PATH,
    log,
    isTrusted,
  });
}

/** A path that is no valid percent-encoding is taken by the letter: an unknown id or route, not a fault of the router. */
const mendPath: RequestHandler = (request, _response, next) => {
  try {
    decodeURIComponent(request.path);
  } catch {
    const [path, ...query] = request.url.split('?');
    request.url = [path!.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
};

/** A trusted proxy's word; the address is made into a URL further on. */
const checkProtocol: RequestHandler = (request, _response, next) => {
  if (!URL.canParse(`${request.protocol}://localhost/`))
    throw new DomainError('invalid_request', 'the header x-forwarded-proto names no protocol');
  next();
};

const refuseMethod: RequestHandler = (request, response) => {
  const allowed = 'GET, HEAD, OPTIONS';
  response.setHeader('Allow', allowed);
  throw new DomainError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allowed}`);
};

/** Redis does not decide it: without, each process limits for itself. */
function readiness({ deps, redisState, isServing }: AppOptions): RequestHandler {
  return async (_request, response) => {
    const database = await deps.db.pool.query('select 1').then(
      () => 'ok',
      () => 'away',
    );
    const ready = database === 'ok' && isServing();
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      database,
      ...(redisState !== null && { redis: redisState() }),
      ...(deps.settings.marketSource !== null && { market: await marketState(deps) }),
    });
  };
}

/** For people: how the market re-check went makes no gateway unready. Null while the database is away. */
async function marketState(deps: Deps): Promise<object | null> {
  const times = await recheckTimes(deps).catch(() => null);
  if (times === null) return null;
  const told = (at: Instant | null) => (at === null ? null : formatInstant(at));
  return {
    lastSucceededAt: told(times.lastSucceededAt),
    lastFailedAt: told(times.lastFailedAt),
    nextAt: told(times.nextAt),
  };
}

function answerFault(log: Logger): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const { unexpected, status, code, message, retryAfterSeconds } = describeFault(bodyFault(error) ?? error);
    if (unexpected) log.error({ err: error, req: { id: request.id } }, 'unexpected error');
    if (status === STATUS_OF.unauthorized) response.setHeader('WWW-Authenticate', 'Bearer');
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    response.status(status).json({ error: { code, message } });
  };
}

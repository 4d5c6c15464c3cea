import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { type Caller, unauthorized } from '../domain/accounts/api-keys.js';
import type { FleetDeps } from '../domain/fleet/deps.js';
import type { InstanceFiles } from '../domain/instances/instance-files.js';
import { isForeignHost } from '../domain/kernel/web-site.js';
import { keysDocument } from '../domain/proof/signing-keys.js';
import type { PaymentEvent } from '../domain/top-ups/book-payments.js';
import type { VolumeDeps } from '../domain/volumes/deps.js';
import { createRest, type RestHooks } from '../rest/adapter.js';
import type { ResolverDeps } from '../schema/context.js';
import { checkOperation } from '../schema/scopes.js';
import { createAgentApi, isAgentApi } from './agent/agent-api.js';
import { createHeadCheck } from './check-head.js';
import type { Brand } from './console/brand.js';
import { type ConsoleApi, createConsoleApi } from './console/console-api.js';
import { createFilesApi } from './console/files-api.js';
import { createLogApi } from './console/log-api.js';
import { createConsolePage, type ForeignHandler } from './console/page.js';
import { createCors } from './cors.js';
import { createDescriptions } from './descriptions.js';
import { JSON_TYPE } from './error-envelope.js';
import { answerErrors } from './errors.js';
import { createGraphiql, isGraphiqlPage } from './graphiql/graphiql.js';
import { createGraphql } from './graphql/graphql.js';
import { GRAPHQL_PATH, isGraphql } from './graphql/read-request.js';
import { createReadiness, type HealthOptions, liveness } from './health.js';
import type { KeyUses } from './key-uses.js';
import { createMailPages } from './mail/pages.js';
import { inheritFromExpress, type Messages } from './messages.js';
import { createOpenApi } from './openapi.js';
import { parseQuery } from './parse-query.js';
import { createPaymentCallback } from './payments/callback.js';
import { CALLBACK_PATH } from './payments/callback-path.js';
import { createPipeline, type WebPorts } from './pipeline.js';
import { PublicAnswers, VARY } from './public-answers/public-answers.js';
import { admit } from './rate-limit/admit.js';
import type { RateLimiter } from './rate-limit/rate-limit.js';
import { createJsonReader } from './read-json.js';
import { createRequestIds } from './request-id.js';
import { createRequestLog, type ObserveRequest, type WriteRequest } from './request-log.js';
import { type CreateContext, createContexts, createIdentify, type Identify } from './request-state.js';
import { acceptAnyPath, named, refuseOtherMethods, refuseUnknownRoute } from './routing.js';
import { sendJson } from './send-json.js';
import type { Surface } from './surface.js';
import type { Tracer } from './tracer.js';
import type { IsTrusted } from './trust-proxy.js';
import { createVolumeApi, isVolumeApi } from './volumes/volume-api.js';

const KEYS_PATH = '/.well-known/gpu-rental/keys.json';

export interface AppOptions extends HealthOptions {
  deps: ResolverDeps & FleetDeps & VolumeDeps;
  surface: Surface;
  limiter: RateLimiter;
  keyUses: KeyUses;
  log: Logger;
  /** Writes a log line for each request. Null if requests aren't logged. */
  writeRequest: WriteRequest | null;
  /** Counts requests. Null if metrics are disabled. */
  observeRequest: ObserveRequest | null;
  /** Creates the spans. Null if tracing is disabled. */
  tracer: Tracer | null;
  corsOrigins: '*' | string[];
  introspection: boolean;
  /** Decides which peers' X-Forwarded headers are trusted. */
  isTrusted: IsTrusted;
  webPorts: WebPorts;
  /** Gives the console access to the files of running instances. */
  files: InstanceFiles;
  /** The message classes of the server that this listener belongs to. */
  messages: Messages;
  /** Called with the outcome of each payment that a callback reports. */
  onPayment(event: PaymentEvent): void;
  /** Folder of the GraphiQL page's built assets. */
  graphiqlDir: string;
  /** Folder of the built web console, or null if there is no console. */
  consoleDir: string | null;
  /** The operator's name, accent and logo in the console. */
  brand: Brand;
  /** Whether anyone may create an account in the console. */
  signup: 'open' | 'closed';
}

/**
 * Creates the listener for all requests. The pipeline runs first and passes each request to /graphql, the host agents'
 * routes, the volumes' routes or the Express app.
 */
export function createApp(options: AppOptions): RequestListener {
  const { deps, surface, limiter, keyUses, log, introspection, isTrusted, webPorts, tracer } = options;
  const { writeRequest, observeRequest } = options;
  const identify = createIdentify({ deps, keyUses, isTrusted });
  const browsers = options.consoleDir === null ? null : createConsoleApi(options);
  const answers = new PublicAnswers(deps.inventory);
  const createContext = createContexts(deps, isTrusted);
  const others = createExpressApp(options, { identify, createContext, answers, browsers });
  const agents = createAgentApi({ deps, log, isTrusted });
  const volumes = createVolumeApi({ deps, log, keyUses, isTrusted });
  return createPipeline({
    requestIds: createRequestIds(),
    logRequest:
      writeRequest === null && observeRequest === null
        ? null
        : createRequestLog(writeRequest, observeRequest, isTrusted),
    checkHead: createHeadCheck(isTrusted),
    cors: createCors(options.corsOrigins),
    answers,
    graphql: createGraphql({
      schema: surface.schema,
      limiter,
      // Session cookies are accepted only here.
      identify:
        browsers === null ? identify : createIdentify({ deps, keyUses, isTrusted, ofSession: browsers.identify }),
      createContext,
      introspection,
      answers,
      log,
      tracer,
    }),
    isGraphql: (request) => isGraphql(request) && !isGraphiqlPage(request),
    app: (request, response) =>
      (isAgentApi(request) ? agents : isVolumeApi(request) ? volumes : others)(request, response),
    webPorts,
    tracer,
  });
}

/** The schema, routes and documents that serve requests. */
interface RequestParts {
  identify: Identify;
  createContext: CreateContext;
  answers: PublicAnswers;
  browsers: ConsoleApi | null;
}

/** Creates the Express app, which serves REST, health checks, the web console and the GraphiQL page. */
function createExpressApp(options: AppOptions, parts: RequestParts): Express {
  const { deps } = options;
  const { schema, routes } = options.surface;
  const describe = createOpenApi(deps, routes);

  const app = express();
  inheritFromExpress(options.messages, app);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQuery);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);

  app.use(acceptAnyPath);
  for (const path of ['/', '/healthz', '/readyz', '/v1/openapi.json']) app.all(path, named(path));
  app.get('/healthz', liveness);
  app.get('/readyz', createReadiness(options));
  app.get('/v1/openapi.json', async (_request, response) => sendJson(response, 200, JSON_TYPE, await describe()));
  app.all(['/healthz', '/readyz', '/v1/openapi.json'], refuseOtherMethods('GET, HEAD, OPTIONS'));
  const { publicUrl } = deps.settings;
  app.use(createDescriptions({ schema, publicUrl, introspection: options.introspection }));
  const hooks = restHooks(options, parts);
  app.all(KEYS_PATH, named(KEYS_PATH));
  app.get(KEYS_PATH, async (request, response) => hooks.sendPublic(request, response, await keysDocument(deps)));
  app.all(KEYS_PATH, refuseOtherMethods('GET, HEAD, OPTIONS'));
  app.use('/v1', createRest(routes, hooks));
  if (deps.payments !== null) {
    app.all(CALLBACK_PATH, named(CALLBACK_PATH));
    app.post(CALLBACK_PATH, createPaymentCallback(deps, options.log, options.onPayment));
    app.all(CALLBACK_PATH, refuseOtherMethods('POST, OPTIONS'));
  }
  if (deps.sendMail !== null) app.use(createMailPages(deps));
  if (parts.browsers !== null) app.use(parts.browsers.router, createFilesApi(options), createLogApi(options));
  const foreignHandler: ForeignHandler = ({ headers: { host = '' } }) =>
    isForeignHost(host, publicUrl) ? (request, response) => options.webPorts.serve(request, response) : null;
  const page =
    options.consoleDir === null
      ? null
      : createConsolePage(options.consoleDir, { brand: options.brand, foreignHandler });
  if (page !== null) app.use(page.router);
  app.get('/', (_request, response) => response.redirect(GRAPHQL_PATH));
  app.use(createGraphiql({ endpoint: GRAPHQL_PATH, assetsDir: options.graphiqlDir }));
  if (page !== null) app.use(page.unknown);
  app.use(refuseUnknownRoute);
  app.use(answerErrors(options.log));
  return app;
}

function restHooks(
  { deps, limiter, tracer }: AppOptions,
  { identify, createContext, answers }: RequestParts,
): RestHooks {
  const readJson = createJsonReader();
  const callerOf = async (request: IncomingMessage): Promise<Caller> => {
    const caller = await identify(request);
    if (caller === null) throw unauthorized(request.state.keyFault);
    return caller;
  };
  return {
    matched: (request, path) => {
      request.state.route = `/v1${path}`;
    },
    key: async (request, _response, next) => {
      await callerOf(request);
      next();
    },
    rateLimit: async (request, response, next) => {
      await admit(limiter, await callerOf(request), 1, response);
      next();
    },
    scope: (operation) => async (request, _response, next) => {
      checkOperation(deps, await callerOf(request), operation, [request.params.id]);
      next();
    },
    readBody: (request, response, next) => {
      // The body may take up to half a minute to arrive. Since the key may be revoked in that time, the caller is
      // looked up again.
      request.state.caller = null;
      readJson(request, response, next);
    },
    run: tracer === null ? (_operation, run) => run() : (operation, run) => tracer.operation(operation, 'rest', run),
    contextOf: async (request, response) => createContext(await identify(request), response),
    send: (response, status, body) => sendJson(response, status, JSON_TYPE, JSON.stringify(body)),
    sendText: sendJson,
    sendPublic: (request, response, body) => {
      // The pipeline has drawn a ticket for every GET without a cached response.
      const { ticket, route } = request.state;
      const answer = ticket!.keep(JSON.stringify(body), { type: JSON_TYPE, route, operation: null });
      const reply = answers.replyTo(request, answer);
      response
        .vary(VARY)
        .writeHead(reply.status, [...reply.headers])
        .end(reply.body);
    },
  };
}

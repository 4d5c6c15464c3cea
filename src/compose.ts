import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { seedDatabase } from '../prisma/seed/load.js';
import { logsOf } from './access/open-logs.js';
import { hostKey } from './access/ssh/host-key.js';
import { SshServer } from './access/ssh/server.js';
import { Tunnels } from './access/tunnels.js';
import { WebFront } from './access/web/web-front.js';
import { type Config, domainSettings } from './config.js';
import { openDatabase } from './database/database.js';
import { openEmbeddedPostgres } from './database/embedded/embedded-postgres.js';
import { applyMigrations } from './database/migrate.js';
import type { NotifyMode } from './database/pool.js';
import { watchStatements } from './database/watch-pool.js';
import { startSessionSweep } from './domain/accounts/sessions.js';
import { startSweep } from './domain/billing/sweep.js';
import { createDeps, type Deps } from './domain/deps.js';
import { startFleetWatch } from './domain/fleet/watch.js';
import { startRecheck } from './domain/market/recheck.js';
import type { Clock } from './domain/rules/time.js';
import type { PaymentProcessor } from './domain/top-ups/processor.js';
import { startReconciliation } from './domain/top-ups/reconcile.js';
import { sendError } from './http/error-envelope.js';
import { createKeyUses } from './http/key-uses.js';
import { createMessages } from './http/messages.js';
import { CALLBACK_PATH } from './http/payments/callback-path.js';
import { createRateLimiter } from './http/rate-limit/rate-limit.js';
import type { WriteRequest } from './http/request-log.js';
import { createHttpServer, type UpgradeListener } from './http/server.js';
import { trustProxies } from './http/trust-proxy.js';
import { logPayment, withLog } from './log-payments.js';
import { logRecheck } from './log-recheck.js';
import type { Metrics } from './metrics/metrics.js';
import { PACKAGE_ROOT } from './package-root.js';
import { createProcessor } from './payments/create-processor.js';
import type { Traces } from './traces/traces.js';

/** The domain on its database, without an HTTP server: all that operator commands need. */
export interface Domain {
  deps: Deps;
  close(): Promise<void>;
}

export interface Gateway extends Domain {
  /** For `noticeMs` only readiness fails, so that load balancers stop sending requests; then the gateway shuts down. */
  close(noticeMs?: number): Promise<void>;
  /** Address it listens on, such as http://127.0.0.1:4000. */
  address: string;
  /** Where SSH into instances leads; null where there is none. */
  sshAddress: Deps['settings']['ssh'];
  /** Ways into instances. */
  tunnels: Tunnels;
  /** Where the metrics are; null where there are none. */
  metricsAddress: string | null;
  /** False where the console is left out. */
  hasConsole: boolean;
  /** The demo account's key, if this start created it. */
  demoKey: string | null;
}

/** The database can't be reached or migrated; the message is one line that names the setting. */
export class DatabaseUnusable extends Error {}

/** Time for requests in flight to complete during shutdown. */
const DRAIN_MS = 6_000;
const IDLE_CHECK_MS = 50;
/** Then the time for background work, and again for queries: cutting a connection does not end its query. */
const CLOSE_MS = 1_000;

/** Opens the database (the embedded one if there is no address) and applies pending migrations. */
export async function openDomain(
  config: Config,
  clock: Clock,
  log: Logger,
  notifyMode: NotifyMode = 'within',
  traces: Traces | null = null,
): Promise<Domain> {
  const embedded =
    config.databaseUrl === null
      ? await openEmbeddedPostgres({ dataDir: config.dataDir, onNote: (note) => log.info(note) })
      : null;
  const url = config.databaseUrl ?? embedded!.url;
  const db = openDatabase(url, notifyMode);
  if (traces !== null) watchStatements(db.pool, traces.statements);
  const close = async () => {
    await orGiveUp(db.close());
    await embedded?.release();
  };
  try {
    // The pool's connections time out on a host that does not answer; the migrations' connection does not.
    await db.pool.query('select 1');
    const applied = await applyMigrations(url, join(PACKAGE_ROOT, 'prisma/migrations'));
    if (applied.length > 0) log.info({ migrations: applied }, 'database brought up to date');
    return {
      deps: createDeps(db, clock, { ...domainSettings(config), publicUrl: config.publicUrl ?? '', ssh: null }),
      close,
    };
  } catch (error) {
    await close();
    const setting = config.databaseUrl === null ? 'DATA_DIR' : 'DATABASE_URL';
    throw new DatabaseUnusable(`${setting} names a database that can't be used: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  // A host name with several addresses fails with one error for each, and no message of its own.
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((each) => (each instanceof Error ? each.message : String(each)).replace(/\s+/g, ' ')).join('; ');
}

/** Opens the whole gateway and listens. `writeRequest` takes the line of each request. */
export async function openGateway(
  config: Config,
  clock: Clock,
  log: Logger,
  writeRequest = requestWriter(log),
): Promise<Gateway> {
  // Imported while the database opens; operator commands never need them.
  const surfaces = Promise.all([import('./http/app.js'), import('./schema/index.js')]);
  const [traces, metrics] = await Promise.all([openTraces(config, log), openMetrics(config, log)]);
  const domain = await openDomain(config, clock, log, 'after', traces);
  const messages = createMessages();
  let listener = answerStarting;
  let serving = true;
  let takeTunnel: UpgradeListener = () => false;
  let ssh: SshServer | null = null;
  const server = createHttpServer(
    messages,
    (request, response) => {
      // A proxy keeps no connection that is about to be closed: a request on it would be lost.
      if (!serving) response.shouldKeepAlive = false;
      listener(request, response);
    },
    undefined,
    (request, socket, head) => takeTunnel(request, socket, head),
  );
  const redis = config.redisUrl === null ? null : await openRedis(config.redisUrl, log);
  try {
    // Before the seed: a start that fails on a taken port must not use up the demo key, which is shown only once.
    const address = await listen(server, config);
    const publicUrl = config.publicUrl ?? address;
    const payments = openPayments(config, publicUrl, clock, log, traces, metrics);
    const deps: Deps = { ...domain.deps, payments, settings: { ...domain.deps.settings, publicUrl } };
    if (metrics !== null) deps.events = metrics.events;
    const tunnels = new Tunnels({ deps, log, tunnelsUrl: config.streamsUrl });
    ssh = await openSsh(config, deps, tunnels, log);
    const { demoKey } = await seedDatabase(domain.deps, config.seed);
    const [{ createApp }, { buildSchema }] = await surfaces;
    await domain.deps.inventory.current();
    const onFault = (error: unknown) => log.error({ err: error }, 'background work failed');
    const keyUses = createKeyUses(deps, onFault);
    const sweep = startSweep(deps, onFault);
    const sessionSweep = config.console ? startSessionSweep(deps, onFault) : null;
    deps.fleet.onFault = onFault;
    const watch = startFleetWatch(deps, onFault);
    const recheck = startRecheck(deps, logRecheck(log), onFault);
    const onPayment = both(logPayment(log), metrics?.payments?.event);
    const reconciliation = startReconciliation(deps, onPayment, onFault);
    const isTrusted = trustProxies(config.trustProxy);
    const webPorts = new WebFront({ deps, openTunnel: (wanted) => tunnels.open(wanted), isTrusted, onFault });
    // An instance may have any path.
    takeTunnel = (request, socket, head) =>
      webPorts.siteOf(request) === undefined && tunnels.handleUpgrade(request, socket, head);
    const redisState = redis?.state ?? null;
    const metricsServer = (await metrics?.serve({ deps, tunnels, ssh, webPorts, redisState })) ?? null;
    const schema = buildSchema();
    if (traces !== null) (await import('./traces/use-cases.js')).traceUseCases(schema, traces);
    const limiter = createRateLimiter(redis ?? undefined);
    listener = createApp({
      deps: { ...deps, openLogs: logsOf(tunnels) },
      schema,
      limiter: metrics?.countAdmissions(limiter) ?? limiter,
      redisState,
      keyUses,
      log,
      writeRequest,
      observeRequest: metrics?.observeRequest ?? null,
      tracer: traces,
      corsOrigins: config.corsOrigins,
      introspection: config.introspection,
      isTrusted,
      webPorts,
      messages,
      onPayment,
      graphiqlDir: join(PACKAGE_ROOT, 'dist/graphiql'),
      consoleDir: config.console ? join(PACKAGE_ROOT, 'dist/console') : null,
      signup: config.signup,
      isServing: () => serving,
    });
    const close = async (noticeMs = 0) => {
      serving = false;
      ssh?.stopListening();
      const workEnded = Promise.all([recheck.stop(), reconciliation.stop()]);
      await sleep(noticeMs);
      // A stream never ends by itself; its reader reconnects to another process.
      deps.subscriptions.close();
      deps.fleet.endWaits();
      webPorts.close();
      tunnels.close();
      ssh?.close();
      await drain(server);
      redis?.close();
      const fleetEnded = Promise.all([watch.stop(), deps.fleet.close()]);
      await orGiveUp(
        Promise.all([sweep.stop(), sessionSweep?.stop(), workEnded, fleetEnded]).then(() => keyUses.close()),
      );
      metricsServer?.close();
      await orGiveUp(traces?.close() ?? Promise.resolve());
      await domain.close();
    };
    const metricsAddress = metricsServer?.address ?? null;
    const { ssh: sshAddress } = deps.settings;
    return { deps, address, hasConsole: config.console, sshAddress, metricsAddress, tunnels, demoKey, close };
  } catch (error) {
    ssh?.close();
    server.close();
    server.closeAllConnections();
    redis?.close();
    await domain.close();
    throw error;
  }
}

/** Null when the level leaves such lines out. */
function requestWriter(log: Logger): WriteRequest | null {
  return log.isLevelEnabled('info') ? (line) => log.info(line, 'request') : null;
}

/** The client takes 2 MB, so it is imported only when it is used. */
async function openRedis(url: string, log: Logger) {
  const { openRedisBuckets } = await import('./http/rate-limit/redis-buckets.js');
  return openRedisBuckets(url, log);
}

/** The libraries of metrics and of traces are imported only when they are used. */
async function openMetrics(config: Config, log: Logger): Promise<Metrics | null> {
  const { metricsPort: port, metricsHost: host } = config;
  if (port === null) return null;
  const { createMetrics } = await import('./metrics/metrics.js');
  const onFault = (error: unknown) =>
    log.warn({ err: error }, 'the figures of the database are missing in the metrics');
  return createMetrics({ host, port, hasPayments: config.payments !== null, onFault });
}

async function openTraces(config: Config, log: Logger): Promise<Traces | null> {
  const { tracesUrl: url, tracesHeaders, tracesService: service, tracesSampler: sampler, tracesRatio: ratio } = config;
  if (url === null) return null;
  const { openTraces } = await import('./traces/traces.js');
  const onDelivery = (reason: string | null) => {
    if (reason === null) log.info('traces are sent again');
    else log.warn({ reason }, 'traces can not be sent and are dropped');
  };
  return openTraces({ url, headers: tracesHeaders ?? {}, service, sampler, ratio, onDelivery });
}

function both<T>(first: (told: T) => void, second: ((told: T) => void) | undefined): (told: T) => void {
  if (second === undefined) return first;
  return (told) => {
    first(told);
    second(told);
  };
}

/** Null where SSH is off. Where it leads is from then on part of the settings. */
async function openSsh(config: Config, deps: Deps, tunnels: Tunnels, log: Logger): Promise<SshServer | null> {
  if (config.sshPort === null) return null;
  const { privateKey, publicKey } = await hostKey(deps);
  const ssh = new SshServer({ deps, tunnels, log, hostKey: privateKey });
  const port = await ssh.listen(config.sshPort, config.host);
  deps.settings.ssh = { host: config.serviceDomain, port, hostKey: publicKey };
  return ssh;
}

/** Null where the operator has set up no payment processor. */
function openPayments(
  config: Config,
  publicUrl: string,
  clock: Clock,
  log: Logger,
  traces: Traces | null,
  metrics: Metrics | null,
): PaymentProcessor | null {
  const { payments, paymentsUrl, paymentsKey, paymentsCallbackUrl } = config;
  if (payments === null || paymentsUrl === null || paymentsKey === null) return null;
  const moreHeaders = traces?.outgoing ?? (() => ({}));
  const settings = { ...config, payments, paymentsUrl, paymentsKey, moreHeaders };
  const callbackUrl = paymentsCallbackUrl ?? publicUrl + CALLBACK_PATH;
  return withLog(
    createProcessor(settings, callbackUrl, () => clock.now()),
    log,
    metrics?.payments?.fault,
  );
}

const answerStarting: RequestListener = (_request, response) => {
  sendError(response, { status: 503, code: 'unavailable', message: 'the gateway is starting', retryAfterSeconds: 1 });
};

function listen(server: Server, { port, host }: Config): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const bound = server.address() as AddressInfo;
      const everywhere = host === '0.0.0.0' || host === '::';
      const name = everywhere ? 'localhost' : bound.family === 'IPv6' ? `[${bound.address}]` : host;
      resolve(`http://${name}:${bound.port}`);
    });
  });
}

/** A query waiting for a lock must keep neither the process nor the embedded server from ending. */
function orGiveUp(work: Promise<void>): Promise<void> {
  return Promise.race([work, sleep(CLOSE_MS, undefined, { ref: false })]);
}

/** Lets requests in flight complete, then closes the remaining connections. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // Repeatedly: a connection becomes idle when its request is answered, and would be kept for the next one.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}

import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { seedDatabase } from '../prisma/seed/load.js';
import { logsOf } from './access/open-logs.js';
import { hostKey } from './access/ssh/host-key.js';
import { SshServer } from './access/ssh/server.js';
import { Streams } from './access/streams.js';
import { WebFront } from './access/web/web-front.js';
import { type Config, domainSettings } from './config.js';
import { openDatabase } from './database/database.js';
import { openEmbeddedPostgres } from './database/embedded/embedded-postgres.js';
import { applyMigrations } from './database/migrate.js';
import type { NotifyMode } from './database/pool.js';
import { startSessionSweep } from './domain/accounts/sessions.js';
import { startSweep } from './domain/billing/sweep.js';
import { createDeps, type Deps } from './domain/deps.js';
import { startFleetWatch } from './domain/fleet/watch.js';
import { startRecheck } from './domain/market/recheck.js';
import type { Clock } from './domain/rules/time.js';
import { startReconciliation } from './domain/topups/reconcile.js';
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
import { PACKAGE_ROOT } from './package-root.js';
import { createProcessor } from './payments/create-processor.js';
import type { PaymentProcessor } from './payments/processor.js';

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
  streams: Streams;
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
): Promise<Domain> {
  const embedded =
    config.databaseUrl === null
      ? await openEmbeddedPostgres({ dataDir: config.dataDir, onNote: (note) => log.info(note) })
      : null;
  const url = config.databaseUrl ?? embedded!.url;
  const db = openDatabase(url, notifyMode);
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
  const domain = await openDomain(config, clock, log, 'after');
  const messages = createMessages();
  let listener = answerStarting;
  let serving = true;
  let takeStream: UpgradeListener = () => false;
  let ssh: SshServer | null = null;
  const server = createHttpServer(
    messages,
    (request, response) => {
      // A proxy keeps no connection that is about to be closed: a request on it would be lost.
      if (!serving) response.shouldKeepAlive = false;
      listener(request, response);
    },
    undefined,
    (request, socket, head) => takeStream(request, socket, head),
  );
  const redis = config.redisUrl === null ? null : await openRedis(config.redisUrl, log);
  try {
    // Before the seed: a start that fails on a taken port must not use up the demo key, which is shown only once.
    const address = await listen(server, config);
    const publicUrl = config.publicUrl ?? address;
    const payments = openPayments(config, publicUrl, clock, log);
    const deps: Deps = { ...domain.deps, payments, settings: { ...domain.deps.settings, publicUrl } };
    const streams = new Streams({ deps, log, streamsUrl: config.streamsUrl });
    ssh = await openSsh(config, deps, streams, log);
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
    const onPayment = logPayment(log);
    const reconciliation = startReconciliation(deps, onPayment, onFault);
    const isTrusted = trustProxies(config.trustProxy);
    const webPorts = new WebFront({ deps, openStream: (wanted) => streams.open(wanted), isTrusted, onFault });
    // An instance may have any path.
    takeStream = (request, socket, head) =>
      webPorts.siteOf(request) === undefined && streams.handleUpgrade(request, socket, head);
    listener = createApp({
      deps: { ...deps, openLogs: logsOf(streams) },
      schema: buildSchema(),
      limiter: createRateLimiter(redis ?? undefined),
      redisState: redis?.state ?? null,
      keyUses,
      log,
      writeRequest,
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
      streams.close();
      ssh?.close();
      await drain(server);
      redis?.close();
      const fleetEnded = Promise.all([watch.stop(), deps.fleet.close()]);
      await orGiveUp(
        Promise.all([sweep.stop(), sessionSweep?.stop(), workEnded, fleetEnded]).then(() => keyUses.close()),
      );
      await domain.close();
    };
    return { deps, address, hasConsole: config.console, sshAddress: deps.settings.ssh, streams, demoKey, close };
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

/** Null where SSH is off. Where it leads is from then on part of the settings. */
async function openSsh(config: Config, deps: Deps, streams: Streams, log: Logger): Promise<SshServer | null> {
  if (config.sshPort === null) return null;
  const { privateKey, publicKey } = await hostKey(deps);
  const ssh = new SshServer({ deps, streams, log, hostKey: privateKey });
  const port = await ssh.listen(config.sshPort, config.host);
  deps.settings.ssh = { host: config.serviceDomain, port, hostKey: publicKey };
  return ssh;
}

/** Null where the operator has set up no payment processor. */
function openPayments(config: Config, publicUrl: string, clock: Clock, log: Logger): PaymentProcessor | null {
  const { payments, paymentsUrl, paymentsKey, paymentsCallbackUrl } = config;
  if (payments === null || paymentsUrl === null || paymentsKey === null) return null;
  const settings = { ...config, payments, paymentsUrl, paymentsKey };
  const callbackUrl = paymentsCallbackUrl ?? publicUrl + CALLBACK_PATH;
  return withLog(
    createProcessor(settings, callbackUrl, () => clock.now()),
    log,
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

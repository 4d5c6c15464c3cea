import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import { seedDatabase } from '../../prisma/seed/load.js';
import { filesOf } from '../access/files/instance-files.js';
import { logsOf } from '../access/open-logs.js';
import type { TcpPorts } from '../access/tcp/tcp-ports.js';
import { Terminals } from '../access/terminal/terminals.js';
import { type TunnelRequest, Tunnels } from '../access/tunnels.js';
import { WebFront } from '../access/web/web-front.js';
import { isUnavailable, unavailableReason } from '../database/faults.js';
import { serveRequests } from '../database/pool.js';
import { SLOW_MS } from '../database/report-if-slow.js';
import type { Clock } from '../domain/kernel/time.js';
import type { Brand } from '../http/console/brand.js';
import { GatewayServer } from '../http/gateway-server.js';
import { createKeyUses, type KeyUses } from '../http/key-uses.js';
import { createMessages, type Messages } from '../http/messages.js';
import { createRateLimiter } from '../http/rate-limit/rate-limit.js';
import type { RedisBuckets } from '../http/rate-limit/redis-buckets.js';
import type { WriteRequest } from '../http/request-log.js';
import type { UpgradeListener } from '../http/server.js';
import { trustProxies } from '../http/trust-proxy.js';
import { logPayment } from '../logging/log-payments.js';
import type { Metrics } from '../metrics/metrics.js';
import type { MetricsServer } from '../metrics/serve.js';
import type { Watched } from '../metrics/state.js';
import { createOutageLog } from '../std/outage-log.js';
import { PACKAGE_ROOT } from '../std/package-root.js';
import type { Traces } from '../traces/traces.js';
import { createSender } from '../webhooks/send.js';
import { type BackgroundWork, startBackgroundWork } from './background.js';
import { type Config, domainSettings, SETTINGS } from './config.js';
import { DatabaseUnusable, type OpenDatabase, openConfiguredDatabase, within } from './database.js';
import { createDeps, type Deps } from './deps.js';
import { readLogo } from './logo.js';
import {
  findRestic,
  type OpenSsh,
  openMail,
  openMetrics,
  openModelHub,
  openPayments,
  openRedis,
  openSsh,
  openTcpPorts,
  openTraces,
  openVolumeStore,
} from './optional.js';
import { sealingKeysOf } from './sealing-keys.js';

export { DatabaseUnusable };

/** The domain and its database, without an HTTP server. This is all that operator commands need. */
export interface Domain {
  deps: Deps;
  close(): Promise<void>;
}

export interface Gateway extends Domain {
  /**
   * Shuts down. For the first `noticeMs`, only the readiness check fails, so that load balancers stop sending requests.
   */
  close(noticeMs?: number): Promise<void>;
  /** URL that the gateway listens on, such as http://127.0.0.1:4000. */
  address: string;
  /** Address for SSH connections to instances. Null if SSH is disabled. */
  sshAddress: Deps['settings']['ssh'];
  /** Tunnels into instances. */
  tunnels: Tunnels;
  /** URL of the metrics. Null if they are disabled. */
  metricsAddress: string | null;
  /** Whether the console is served. */
  hasConsole: boolean;
  /** The demo account's key, if this start created it. */
  demoKey: string | null;
}

/** Time limit for background work to end, and then for the remaining traces to be sent. */
const CLOSE_MS = 1_000;

/** Opens the database and the use cases that run on it. */
export async function openDomain(config: Config, clock: Clock, log: Logger): Promise<Domain> {
  const { db, close } = await openConfiguredDatabase(config, log, 'within');
  const publicUrl = config.publicUrl ?? '';
  const settings = { ...domainSettings(config), publicUrl, ssh: null };
  const volumeStore = await openVolumeStore(config);
  const payments = openPayments(config, publicUrl, clock, log, { traces: null, metrics: null });
  const adapters = { payments, sealingKeys: sealingKeysOf(config), volumeStore, restic: await findRestic() };
  return { deps: createDeps(db, clock, settings, adapters), close };
}

/** Writes request lines to the log and counts dropped lines. */
export interface LogLines {
  /** Writes a request's log line. Null if the log level excludes it. */
  writeRequest: WriteRequest | null;
  /** Returns the number of dropped log lines. */
  droppedLines(): number;
}

/** Opens the complete gateway and starts listening. */
export async function openGateway(
  config: Config,
  clock: Clock,
  log: Logger,
  { writeRequest, droppedLines }: LogLines = { writeRequest: requestWriter(log), droppedLines: () => 0 },
): Promise<Gateway> {
  // These modules are imported while the database opens. They aren't imported statically, because operator commands
  // never need them.
  const surfaces = Promise.all([
    import('../http/app.js'),
    import('../http/surface.js'),
    import('../http/console/terminal-auth.js'),
  ]);
  // Reads the operator's logo, so that an unusable one is reported before anything is opened.
  const settings = appSettings(config);
  const startedAt = performance.now();
  const logInfo = (message: string) => log.info(message);
  const opened: Opened = [];
  try {
    const base = await openBase(config, clock, log, opened);
    const { deps, tunnels, onFault } = await openUseCases(base, settings.brand);
    const isTrusted = trustProxies(config.trustProxy);
    const openTunnel = (wanted: TunnelRequest) => tunnels.open(wanted);
    const webPorts = new WebFront({ deps, streamsUrl: config.streamsUrl, openTunnel, isTrusted, onFault });
    base.ssh?.server.serve(deps, tunnels);
    await base.tcpPorts?.serve(deps, tunnels);
    const metricsServer = await serveMetrics(base, { deps, tunnels, webPorts, droppedLines });
    opened.push(() => metricsServer?.close());
    const { demoKey } = await seedDatabase(deps, config.seed, logInfo);
    if (performance.now() - startedAt > SLOW_MS) logInfo('database ready; loading the API');
    const [{ createApp }, { createSurface, untracedSurface }, { createTerminalAuth }] = await surfaces;
    await deps.inventory.current();
    const surface = base.traces === null ? untracedSurface() : createSurface(await useCaseTracer(base.traces));
    const keyUses = createKeyUses(deps, onFault);
    const onPayment = both(logPayment(log), base.metrics?.payments?.event);
    const app = createApp({
      ...settings,
      ...observers(base),
      deps,
      surface,
      keyUses,
      log,
      writeRequest,
      isTrusted,
      webPorts,
      files: filesOf(tunnels),
      onPayment,
      messages: base.messages,
      isServing: () => base.server.isServing,
    });
    const identify = createTerminalAuth({ deps, keyUses, isTrusted });
    const terminals = config.console ? new Terminals({ log, tunnels, identify }) : null;
    serveRequests(deps.db.pool);
    base.server.serve(app, upgradesOf(webPorts, tunnels, terminals));
    const background = startBackgroundWork(deps, { log, address: base.address, onPayment, onFault });
    return gatewayOf({ ...base, deps, tunnels, terminals, webPorts, keyUses, background, metricsServer }, demoKey);
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw error;
  }
}

/** Passes upgrade requests to tunnels and terminals. */
function upgradesOf(webPorts: WebFront, tunnels: Tunnels, terminals: Terminals | null): UpgradeListener {
  // An instance's programs may use any path, so requests to its host are left to its web ports.
  return (request, socket, head) =>
    webPorts.siteOf(request) === undefined &&
    (tunnels.handleUpgrade(request, socket, head) || (terminals?.handleUpgrade(request, socket, head) ?? false));
}

/** Functions that close what has been opened so far, in case the start fails. */
type Opened = (() => unknown)[];

/** The use cases' dependencies, and the parts that run alongside them. */
interface Base {
  config: Config;
  clock: Clock;
  log: Logger;
  database: OpenDatabase;
  traces: Traces | null;
  metrics: Metrics | null;
  redis: RedisBuckets | null;
  messages: Messages;
  server: GatewayServer;
  /** URL of the server. */
  address: string;
  ssh: OpenSsh | null;
  tcpPorts: TcpPorts | null;
}

/** Opens the database and starts listening. Clients are rejected until the gateway can serve them. */
async function openBase(config: Config, clock: Clock, log: Logger, opened: Opened): Promise<Base> {
  const [traces, metrics] = await Promise.all([openTraces(config, log), openMetrics(config, log)]);
  const database = await openConfiguredDatabase(config, log, 'after', traces);
  opened.push(() => database.close());
  const redis = await openRedis(config, log);
  opened.push(() => redis?.close());
  const messages = createMessages();
  const server = new GatewayServer(messages);
  opened.push(() => server.close());
  const address = await server.listen(config);
  const ssh = await openSsh(config, database.db, clock, log);
  opened.push(() => ssh?.server.close());
  const tcpPorts = await openTcpPorts(config, log);
  opened.push(() => tcpPorts?.close());
  return { config, clock, log, database, traces, metrics, redis, messages, server, address, ssh, tcpPorts };
}

/** Creates the use cases' dependencies, including the tunnels into instances that are used to read logs. */
async function openUseCases({ config, clock, log, database, traces, metrics, address, ssh }: Base, brand: Brand) {
  const logOutage = createOutageLog(log, 'background work failed and will be retried');
  const onFault = (error: unknown) =>
    isUnavailable(error) ? logOutage(unavailableReason(error)) : log.error({ err: error }, 'background work failed');
  const publicUrl = config.publicUrl ?? address;
  const settings = { ...domainSettings(config), publicUrl, ssh: ssh?.address ?? null };
  const deps = createDeps(database.db, clock, settings, {
    payments: openPayments(config, publicUrl, clock, log, { traces, metrics }),
    events: metrics?.events,
    openLogs: (wanted, signal) => openLogs(wanted, signal),
    sealingKeys: sealingKeysOf(config),
    sendWebhook: createSender({ allowed: config.webhookNetworks }),
    sendMail: await openMail(config, brand, log),
    modelHub: openModelHub(config),
    volumeStore: await openVolumeStore(config),
    restic: await findRestic(),
    onFault,
  });
  const tunnels = new Tunnels({ deps, log, tunnelsUrl: config.streamsUrl });
  const openLogs = logsOf(tunnels);
  return { deps, tunnels, onFault };
}

async function useCaseTracer(traces: Traces): Promise<(schema: GraphQLSchema) => void> {
  const { traceUseCases } = await import('../traces/use-cases.js');
  return (schema) => traceUseCases(schema, traces);
}

/** Starts serving metrics. Returns null if they are disabled. */
async function serveMetrics(
  { metrics, ssh, redis }: Base,
  parts: Pick<Watched, 'deps' | 'tunnels' | 'webPorts' | 'droppedLines'>,
): Promise<MetricsServer | null> {
  if (metrics === null) return null;
  return metrics.serve({ ...parts, ssh: ssh?.server ?? null, redisState: redis?.state ?? null });
}

/** Returns the settings used only by the HTTP layer. */
function appSettings(config: Config) {
  const { corsOrigins, introspection, console: hasConsole, signup } = config;
  const consoleDir = hasConsole ? join(PACKAGE_ROOT, 'dist/console') : null;
  const graphiqlDir = join(PACKAGE_ROOT, 'dist/graphiql');
  return { corsOrigins, introspection, signup, consoleDir, brand: brandOf(config), graphiqlDir };
}

/** Returns the console's brand. The default name is part of the console's texts, because it depends on the language. */
function brandOf({ operatorName, consoleAccent, consoleLogo }: Config): Brand {
  return {
    name: operatorName === SETTINGS.OPERATOR_NAME.default ? null : operatorName,
    accent: consoleAccent,
    logo: consoleLogo === null ? null : readLogo(consoleLogo),
  };
}

/** Creates the parts that admit, count and trace requests. */
function observers({ redis, metrics, traces }: Base) {
  const limiter = createRateLimiter(redis ?? undefined);
  return {
    limiter: metrics?.countAdmissions(limiter) ?? limiter,
    redisState: redis?.state ?? null,
    observeRequest: metrics?.observeRequest ?? null,
    tracer: traces,
  };
}

interface Running extends Base {
  deps: Deps;
  tunnels: Tunnels;
  /** The console's terminals. Null if the console is disabled. */
  terminals: Terminals | null;
  webPorts: WebFront;
  keyUses: KeyUses;
  background: BackgroundWork;
  metricsServer: MetricsServer | null;
}

function gatewayOf(running: Running, demoKey: string | null): Gateway {
  const { config, address, deps, tunnels, metricsServer } = running;
  return {
    deps,
    address,
    hasConsole: config.console,
    sshAddress: deps.settings.ssh,
    metricsAddress: metricsServer?.address ?? null,
    tunnels,
    demoKey,
    close: (noticeMs = 0) => closeGateway(running, noticeMs),
  };
}

/** Stops accepting requests, waits for those in flight, then closes what they used. */
async function closeGateway(running: Running, noticeMs: number): Promise<void> {
  const {
    deps,
    server,
    ssh,
    tcpPorts,
    tunnels,
    terminals,
    webPorts,
    redis,
    background,
    keyUses,
    metricsServer,
    traces,
  } = running;
  server.stopServing();
  ssh?.server.stopListening();
  tcpPorts?.stopListening();
  const outgoingEnded = background.stopOutgoing();
  await sleep(noticeMs);
  // A stream never ends on its own, so it is closed here, and its client reconnects to another process.
  deps.subscriptions.close();
  deps.fleet.endWaits();
  webPorts.close();
  terminals?.close();
  tunnels.close();
  ssh?.server.close();
  tcpPorts?.close();
  await server.drain();
  redis?.close();
  await within(
    CLOSE_MS,
    Promise.all([outgoingEnded, background.stop()]).then(() => keyUses.close()),
  );
  metricsServer?.close();
  await within(CLOSE_MS, traces?.close() ?? Promise.resolve());
  await running.database.close();
}

/** Returns a function that writes request lines, or null if the log level excludes them. */
function requestWriter(log: Logger): WriteRequest | null {
  return log.isLevelEnabled('info') ? (line) => log.info(line, 'request') : null;
}

function both<T>(first: (value: T) => void, second: ((value: T) => void) | undefined): (value: T) => void {
  if (second === undefined) return first;
  return (value) => {
    first(value);
    second(value);
  };
}

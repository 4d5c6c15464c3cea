import { SshPortUnusable } from './access/ssh/server.js';
import { TcpPortsUnusable } from './access/tcp/tcp-ports.js';
import { ConfigError, loadEnvFile, readConfig } from './compose/config.js';
import { DatabaseUnusable, type Gateway, openGateway } from './compose/gateway.js';
import { EmbeddedPostgresUnavailable } from './database/embedded/embedded-postgres.js';
import { isUnavailable, unavailableReason } from './database/faults.js';
import { type Log, openLog } from './logging/log.js';
import { MetricsPortUnusable } from './metrics/serve.js';
import { installNameLookup } from './std/name-lookup.js';
import { systemClock } from './std/system-clock.js';

/** Time limit for a shutdown. Once it is exceeded, the process exits immediately. */
const END_WITHIN_MS = 9_500;
/** Maximum time that a shutdown waits for a startup in progress. */
const OPENS_WITHIN_MS = 60_000;
/** Time that /readyz responds with 503 before requests are rejected. */
const NOTICE_MS = 1_000;
/** Maximum time to wait for the last log lines to be read. */
const LOGGED_WITHIN_MS = 1_000;

async function start(): Promise<void> {
  loadEnvFile();
  installNameLookup();
  const config = readConfig(process.env);
  const output = openLog(config.logLevel);
  const { log, writeRequest, dropped } = output;
  logProcessEvents(output);
  const opening = openGateway(config, systemClock, log, { writeRequest, droppedLines: dropped });
  endOnSignal(opening, output);
  const gateway = await opening;
  process.stdout.write(welcome(gateway));
  log.info({ address: gateway.address }, 'listening');
}

/**
 * Logs warnings and uncaught exceptions as JSON, unlike Node's own handlers. After an exception, the process exits,
 * because its state is unknown.
 */
function logProcessEvents({ log, written }: Log): void {
  process.removeAllListeners('warning').on('warning', (warning) => log.warn({ err: warning }, 'warning'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'crashed');
    exit(1, written);
  });
}

/**
 * Shuts down properly on SIGTERM or SIGINT, even while the gateway is still opening. This matters most for the embedded
 * database server.
 */
function endOnSignal(opening: Promise<Gateway>, { log, written }: Log): void {
  let ending = false;
  const end = async (signal: NodeJS.Signals) => {
    if (ending) return;
    ending = true;
    log.info({ signal }, 'shutting down');
    const late = setTimeout(() => process.exit(1), OPENS_WITHIN_MS);
    const gateway = await opening;
    clearTimeout(late);
    setTimeout(() => process.exit(1), END_WITHIN_MS).unref();
    // After Ctrl-C, there is no load balancer to notify.
    await gateway.close(signal === 'SIGTERM' ? NOTICE_MS : 0).then(
      () => exit(0, written),
      (error) => {
        log.error({ err: error }, 'shutdown failed');
        exit(1, written);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // If opening fails, the process exits on its own.
    process.on(signal, () => end(signal).catch(() => {}));
  }
}

/** Exits once the log is written, which is immediate unless the log's reader is behind. */
function exit(code: number, written: Log['written']): void {
  const end = () => process.exit(code);
  if (process.stderr.writableLength === 0) end();
  else void written(LOGGED_WITHIN_MS).then(end);
}

function welcome({ address, hasConsole, sshAddress, metricsAddress, demoKey }: Gateway): string {
  const lines = [
    '',
    'GPU rental gateway',
    ...(hasConsole ? [`  Console   ${address}/ in a browser`] : []),
    `  REST      ${address}/v1  (description: ${address}/v1/openapi.json)`,
    `  GraphQL   ${address}/graphql`,
    `  GraphiQL  ${address}/graphql in a browser`,
    ...(sshAddress === null ? [] : [`  SSH       ssh -p ${sshAddress.port} INSTANCE@${sshAddress.host}`]),
    ...(metricsAddress === null ? [] : [`  Metrics   ${metricsAddress}`]),
  ];
  if (demoKey !== null) {
    lines.push(
      '',
      '  A demo account with 100 USD was created. Its API key is shown only once:',
      `    ${demoKey}`,
      '  Try it:',
      `    curl -H 'Authorization: Bearer ${demoKey}' ${address}/v1/balance`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}

start().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

/**
 * Describes an error in one clear line if an operator can fix it. For a bug in the program, returns the complete error.
 */
function explain(error: unknown): string {
  const types = [
    ConfigError,
    DatabaseUnusable,
    EmbeddedPostgresUnavailable,
    MetricsPortUnusable,
    SshPortUnusable,
    TcpPortsUnusable,
  ];
  const known = types.some((type) => error instanceof type);
  const { code, syscall, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (known) return message;
  if (code === 'EADDRINUSE')
    return `PORT ${port} is in use by another program; set PORT to another port, or to 0 for a free one`;
  if (syscall === 'listen' && code === 'EACCES') return `this user may not listen on PORT ${port}; set another port`;
  if (syscall === 'listen' || syscall === 'getaddrinfo') return `can't listen on HOST: ${message}`;
  if (isUnavailable(error)) return `temporarily unavailable; start again: ${unavailableReason(error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

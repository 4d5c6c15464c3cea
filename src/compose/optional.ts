import { join } from 'node:path';
import type { Logger } from 'pino';
import { hostKey } from '../access/ssh/host-key.js';
import { SshServer } from '../access/ssh/server.js';
import { TcpPorts } from '../access/tcp/tcp-ports.js';
import type { Database } from '../database/database.js';
import type { Settings } from '../domain/kernel/settings.js';
import type { Clock } from '../domain/kernel/time.js';
import type { ModelHub } from '../domain/models/hub.js';
import type { PaymentProcessor } from '../domain/top-ups/processor.js';
import type { RunRestic } from '../domain/volumes/restic.js';
import type { VolumeStore } from '../domain/volumes/store.js';
import type { SendMail } from '../domain/webhooks/receiver.js';
import type { Brand } from '../http/console/brand.js';
import { CALLBACK_PATH } from '../http/payments/callback-path.js';
import { createTokenBuckets } from '../http/token-buckets.js';
import { HubClient } from '../hub/hub-client.js';
import { withLog } from '../logging/log-payments.js';
import type { Metrics } from '../metrics/metrics.js';
import { createProcessor } from '../payments/create-processor.js';
import type { Traces } from '../traces/traces.js';
import { FolderStore } from '../volumes/folder-store.js';
import { hasRestic, runRestic } from '../volumes/restic.js';
import type { Config } from './config.js';

/**
 * These parts are optional for operators, and null if disabled. Their libraries are imported only when used, because
 * the clients for Redis, metrics and traces take megabytes of memory.
 */

/** Reads from the model hub by an account or, without a key, an address. */
const HUB_READS = { size: 20, everySeconds: 3 };

export async function openRedis({ redisUrl }: Config, log: Logger) {
  if (redisUrl === null) return null;
  const { openRedisBuckets } = await import('../http/rate-limit/redis-buckets.js');
  return openRedisBuckets(redisUrl, log);
}

export async function openMetrics(config: Config, log: Logger): Promise<Metrics | null> {
  const { metricsPort: port, metricsHost: host } = config;
  if (port === null) return null;
  const { createMetrics } = await import('../metrics/metrics.js');
  const onFault = (error: unknown) => log.warn({ err: error }, 'database metrics are missing from this scrape');
  return createMetrics({ host, port, hasPayments: config.payments !== null, onFault });
}

export async function openTraces(config: Config, log: Logger): Promise<Traces | null> {
  const { tracesUrl: url, tracesHeaders, tracesService: service, tracesSampler: sampler, tracesRatio: ratio } = config;
  if (url === null) return null;
  const { openTraces } = await import('../traces/traces.js');
  const onDelivery = (reason: string | null) => {
    if (reason === null) log.info('traces are being sent again');
    else log.warn({ reason }, "can't send traces; dropping them");
  };
  return openTraces({ url, headers: tracesHeaders ?? {}, service, sampler, ratio, onDelivery });
}

export async function openMail(config: Config, { accent, logo }: Brand, log: Logger): Promise<SendMail | null> {
  const { smtpUrl: url, smtpTls: tls, mailFrom: from, operatorName: name } = config;
  if (url === null || from === null) return null;
  const { createMailSender } = await import('../mail/send.js');
  const onDelivery = (reason: string | null) => {
    if (reason === null) log.info('email is being sent again');
    else log.warn({ reason }, "can't send email; retrying");
  };
  const brand = { name, accent, logo: logo?.type === 'image/png' ? logo.content : null };
  return createMailSender({ url, tls, from, brand, onDelivery });
}

/** Returns the hub from which models are read, or null if the operator hasn't named one. */
export function openModelHub({ modelHub: url }: Config): ModelHub | null {
  if (url === null) return null;
  const refusal = (seconds: number) => `too many models read from the hub; try again in ${seconds} s`;
  const { take } = createTokenBuckets({ ...HUB_READS, refusal });
  return new HubClient({ url, take });
}

/** Returns a function that runs restic, or null if it isn't installed. */
export async function findRestic(): Promise<RunRestic | null> {
  return (await hasRestic()) ? runRestic : null;
}

/** Opens the volume store without contacting it, because it may be unreachable. */
export async function openVolumeStore({ volumeStore, dataDir }: Config): Promise<VolumeStore> {
  if (volumeStore === null) return new FolderStore(join(dataDir, 'volumes'));
  const { S3Store } = await import('../volumes/s3-store.js');
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  const endpoint = AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL ?? null;
  const region = AWS_REGION ?? AWS_DEFAULT_REGION ?? (endpoint === null ? null : 'us-east-1');
  return new S3Store({ ...volumeStore, endpoint, region });
}

export interface OpenSsh {
  server: SshServer;
  address: NonNullable<Settings['ssh']>;
}

/** Starts the SSH server. Until it can serve connections, it closes them immediately. */
export async function openSsh(config: Config, db: Database, clock: Clock, log: Logger): Promise<OpenSsh | null> {
  if (config.sshPort === null) return null;
  const { privateKey, publicKey } = await hostKey({ db, clock });
  const server = new SshServer({ log, hostKey: privateKey });
  const port = await server.listen(config.sshPort, config.host);
  return { server, address: { host: config.serviceDomain, port, hostKey: publicKey } };
}

/** Starts listening on the TCP ports. Until connections can be served, they are closed immediately. */
export async function openTcpPorts({ tcpPorts, host }: Config, log: Logger): Promise<TcpPorts | null> {
  if (tcpPorts === null) return null;
  const ports = new TcpPorts(log);
  try {
    await ports.listen(tcpPorts, host);
    return ports;
  } catch (error) {
    ports.close();
    throw error;
  }
}

export function openPayments(
  config: Config,
  publicUrl: string,
  clock: Clock,
  log: Logger,
  { traces, metrics }: { traces: Traces | null; metrics: Metrics | null },
): PaymentProcessor | null {
  const { payments, paymentsUrl, paymentsKey, paymentsCallbackUrl } = config;
  if (payments === null || paymentsUrl === null || paymentsKey === null) return null;
  const moreHeaders = traces?.outgoing ?? (() => ({}));
  const settings = { ...config, payments, paymentsUrl, paymentsKey, moreHeaders };
  const callbackUrl = paymentsCallbackUrl ?? publicUrl + CALLBACK_PATH;
  const processor = createProcessor(settings, callbackUrl, () => clock.now());
  return withLog(processor, log, metrics?.payments?.fault);
}

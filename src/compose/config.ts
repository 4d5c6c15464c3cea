import { z } from 'zod';
import { parseUsd } from '../domain/kernel/money.js';
import { UNPRINTABLE } from '../domain/kernel/unprintable.js';
import { isAddress } from '../domain/market/market-source.js';
import { isSchedule } from '../domain/market/schedule.js';
import { readConfirmations } from '../domain/top-ups/rules/top-up-assets.js';
import { isMailAddress } from '../domain/webhooks/rules/mail.js';
import { parseNetwork } from '../std/networks.js';
import { isSecureUrl } from '../std/secure-url.js';

interface Setting {
  /** Heading in docs/configuration.md. */
  group:
    | 'Server'
    | 'Access'
    | 'Data'
    | 'Callers'
    | 'Log and limits'
    | 'Metrics and traces'
    | 'Mail'
    | 'Billing'
    | 'Market'
    | 'Payments';
  /** Name in `Config`. The value is in the code's unit, which may differ from the variable's. */
  name: string;
  /** Schema for the accepted values, created by `text`. */
  takes: z.ZodType<unknown, string>;
  /** Default, as written in the environment. If it is omitted, the value is null or as described by `unset`. */
  default?: string;
  /** Describes what happens if the variable is unset. */
  unset?: string;
  /** Whether `NAME=` sets an empty value instead of counting as unset. */
  takesNothing?: true;
  /** Description for operators. */
  about: string;
  /** Whether the setting is read by the domain's use cases. If so, it is part of their `Settings`. */
  domain?: true;
}

/** Samplers by their names in the OpenTelemetry specification. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const SECONDS_PER_HOUR = 3_600;
const SECONDS_PER_DAY = 86_400;
const DOMAIN_NAME = /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const MAX_TCP_RANGE = 5_000;
const SEALING_KEY = /^[0-9a-f]{64}$/i;
const HAS_SCHEME = /^(https?:|[a-z][a-z0-9+.-]*:\/\/)/i;
const MAX_MICRO_PER_GB_HOUR = 1_000_000n;
const MAX_ASK_ABOVE_MICRO = 1_000_000_000_000n;

/**
 * All environment variables. `npm run settings` writes them in this order to .env.example and docs/configuration.md.
 * `Config` and the domain's `Settings` are derived from the table, so a new setting needs only a new row.
 */
export const SETTINGS = {
  PORT: {
    group: 'Server',
    name: 'port',
    takes: whole(0, 65_535),
    default: '4000',
    about: 'Port for REST, GraphQL and GraphiQL. 0 picks a free port and prints it.',
  },
  HOST: {
    group: 'Server',
    name: 'host',
    takes: anyText('a host name or IP address'),
    default: '127.0.0.1',
    about: 'Address to listen on. 0.0.0.0 means all network interfaces.',
  },
  SSH_PORT: {
    group: 'Access',
    name: 'sshPort',
    takes: text('a whole number from 0 to 65535, or empty', (input) =>
      input === '' ? null : readWhole(input, 0, 65_535),
    ),
    takesNothing: true,
    default: '2222',
    about: 'Port on HOST for SSH to instances. 0 picks a free port and prints it. An empty value disables SSH.',
  },
  TCP_PORTS: {
    group: 'Access',
    name: 'tcpPorts',
    takes: text(`a range such as 30000-30999, of at most ${MAX_TCP_RANGE} ports`, readPorts),
    unset: 'no TCP ports',
    about: 'Ports on HOST that are forwarded to instance ports. Use the same range for all gateways.',
    domain: true,
  },
  STREAMS_URL: {
    group: 'Access',
    name: 'streamsUrl',
    takes: address(['http:', 'https:'], 'https://gateway-1.example.com', (input) => input.replace(/\/+$/, '')),
    unset: 'the URL used to join',
    about: "This gateway's own URL for host agents, if several gateways share one.",
  },
  DATA_DIR: {
    group: 'Data',
    name: 'dataDir',
    takes: anyText('a folder'),
    default: '.data',
    about: 'Data folder of the embedded PostgreSQL, which is not used if DATABASE_URL is set.',
  },
  DATABASE_URL: {
    group: 'Data',
    name: 'databaseUrl',
    takes: address(['postgresql:', 'postgres:'], 'postgresql://user:password@host:5432/database'),
    unset: 'the embedded PostgreSQL in DATA_DIR',
    about: 'URL of your own PostgreSQL server, version 15 or newer.',
  },
  DATABASE_REPLICA_URL: {
    group: 'Data',
    name: 'databaseReplicaUrl',
    takes: address(['postgresql:', 'postgres:'], 'postgresql://user:password@host:5432/database'),
    unset: 'no replica',
    about: 'URL of streaming replicas, which serve statements of past periods, audits and exports.',
  },
  SECRETS_KEY: {
    group: 'Data',
    name: 'secretsKeys',
    takes: text('one key of 64 hex characters, or several separated by commas', readKeys),
    unset: 'secrets.key in DATA_DIR; none with DATABASE_URL',
    about: "Keys for renters' secrets. The first encrypts; all decrypt.",
  },
  VOLUME_STORE: {
    group: 'Data',
    name: 'volumeStore',
    takes: text('a URL such as s3://bucket/prefix', readS3),
    unset: 'the volumes folder in DATA_DIR',
    about: "Store for volume snapshots. The AWS SDK's own variables configure access.",
  },
  REDIS_URL: {
    group: 'Data',
    name: 'redisUrl',
    takes: address(['redis:', 'rediss:'], 'redis://host:6379'),
    unset: 'each process counts separately',
    about: 'Redis server through which gateway processes share their rate limits.',
  },
  SERVICE_DOMAIN: {
    group: 'Callers',
    name: 'serviceDomain',
    takes: text('a domain name in lower case', (input) => (DOMAIN_NAME.test(input) ? input : undefined)),
    default: 'gpu.localhost',
    about: 'Domain for instance host names, which have the form <instance id>.<domain>.',
    domain: true,
  },
  PUBLIC_URL: {
    group: 'Callers',
    name: 'publicUrl',
    takes: address(['http:', 'https:'], 'https://api.example.com', (input) => input.replace(/\/+$/, '')),
    unset: 'the address that the gateway listens on',
    about: 'URL at which clients reach the gateway, used in links.',
  },
  CORS_ORIGINS: {
    group: 'Callers',
    name: 'corsOrigins',
    takes: text('* or origins separated by commas, such as https://console.example.com', readOrigins),
    default: '*',
    about: 'Web origins from which browsers may send requests, separated by commas, or * for all.',
  },
  TRUST_PROXY: {
    group: 'Callers',
    name: 'trustProxy',
    takes: text('off, a number of proxies from 1 to 9, or addresses and networks such as 10.0.0.0/8', readProxies),
    default: 'off',
    about:
      'Proxies trusted to set X-Forwarded-For, for the log and limits: off, their number, or addresses and networks.',
  },
  CONSOLE: {
    group: 'Callers',
    name: 'console',
    takes: text('on or off', readSwitch),
    default: 'on',
    about: 'Whether to serve the web console at / and let browsers sign in: on or off.',
  },
  CONSOLE_ACCENT: {
    group: 'Callers',
    name: 'consoleAccent',
    takes: text('a colour such as #0f766e', readColour),
    unset: 'blue',
    about: 'Accent colour of the console and emails, in quotes in a .env file. Any lightness is possible.',
  },
  CONSOLE_LOGO: {
    group: 'Callers',
    name: 'consoleLogo',
    takes: anyText('the path of an SVG or PNG file of at most 64 kB'),
    unset: 'the default icon',
    about: 'Logo of the console and, if a PNG file, of emails. Preferably square. Read at start.',
  },
  WEBHOOK_NETWORKS: {
    group: 'Callers',
    name: 'webhookNetworks',
    takes: text('none, or networks such as 10.1.0.0/16,127.0.0.1', readNetworks),
    default: 'none',
    about: 'Non-public networks that webhooks may reach. Any renter can then send requests to them.',
  },
  MODEL_HUB: {
    group: 'Callers',
    name: 'modelHub',
    takes: text('an https URL such as https://huggingface.co (http only for loopback)', readHub),
    unset: 'renters paste the config.json',
    about: 'Hub from which the gateway reads language models that renters name.',
  },
  SMTP_URL: {
    group: 'Mail',
    name: 'smtpUrl',
    takes: address(['smtp:', 'smtps:'], 'smtp://user:password@mail.example.com:587'),
    unset: 'no email',
    about: 'Mail server for notices to renters. Percent-encode the user name and password.',
  },
  SMTP_TLS: {
    group: 'Mail',
    name: 'smtpTls',
    takes: oneOf(['required', 'offered'], 'required or offered'),
    default: 'required',
    about:
      'Whether smtp:// requires STARTTLS: required, or offered, which falls back to plaintext if the server lacks it.',
  },
  MAIL_FROM: {
    group: 'Mail',
    name: 'mailFrom',
    takes: text('an address such as notices@example.com, or GPU rental <notices@example.com>', readSender),
    unset: 'required with SMTP_URL',
    about: 'Sender address for outgoing email.',
  },
  SIGNUP: {
    group: 'Callers',
    name: 'signup',
    takes: oneOf(['open', 'closed'], 'open or closed'),
    default: 'closed',
    about: 'Whether anyone can create an account (without credit) in the web console: open or closed.',
  },
  INTROSPECTION: {
    group: 'Callers',
    name: 'introspection',
    takes: text('on or off', readSwitch),
    default: 'on',
    about: 'Whether GraphQL exposes its schema and suggests names in error messages: on or off.',
  },
  SEED: {
    group: 'Data',
    name: 'seed',
    takes: oneOf(['demo', 'catalogue', 'none'], 'demo, catalogue or none'),
    unset: 'demo with the embedded PostgreSQL, else catalogue',
    about: 'Data loaded on the first start: demo, catalogue or none.',
  },
  LOG_LEVEL: {
    group: 'Log and limits',
    name: 'logLevel',
    takes: oneOf(LOG_LEVELS, `one of ${LOG_LEVELS.join(', ')}`),
    default: 'info',
    about: 'Minimum severity of log lines: fatal, error, warn, info, debug, trace or silent.',
  },
  RATE_LIMIT_PER_MINUTE: {
    group: 'Log and limits',
    name: 'rateLimitPerMinute',
    takes: whole(0, 1_000_000),
    default: '120',
    about: 'Requests per 60 seconds for an account in the lowest tier. 0 means no limit.',
    domain: true,
  },
  METRICS_PORT: {
    group: 'Metrics and traces',
    name: 'metricsPort',
    takes: whole(0, 65_535),
    unset: 'no metrics',
    about: 'Port on METRICS_HOST for Prometheus to scrape /metrics. 0 picks a free port and prints it.',
  },
  METRICS_HOST: {
    group: 'Metrics and traces',
    name: 'metricsHost',
    takes: anyText('a host name or IP address'),
    default: '127.0.0.1',
    about: 'Address on which metrics are served. They are for the operator only, so never use a public address.',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: 'Metrics and traces',
    name: 'tracesUrl',
    takes: address(['http:', 'https:'], 'http://127.0.0.1:4318', (input) => input.replace(/\/+$/, '')),
    unset: 'no traces',
    about: 'Endpoint that receives traces by OTLP over HTTP. The gateway appends /v1/traces.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    group: 'Metrics and traces',
    name: 'tracesHeaders',
    takes: text('names and values such as api-key=secret,tenant=a', readHeaders),
    unset: 'none',
    about: 'Headers sent with traces.',
  },
  OTEL_SERVICE_NAME: {
    group: 'Metrics and traces',
    name: 'tracesService',
    takes: anyText('a name'),
    default: 'gpu-rental-gateway',
    about: 'Service name in traces.',
  },
  OTEL_TRACES_SAMPLER: {
    group: 'Metrics and traces',
    name: 'tracesSampler',
    takes: oneOf(SAMPLERS, `one of ${SAMPLERS.join(', ')}`),
    default: 'parentbased_always_on',
    about: "Which requests are traced. The parentbased samplers follow the caller's traceparent.",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    group: 'Metrics and traces',
    name: 'tracesRatio',
    takes: text('a number from 0 to 1', readRatio),
    default: '1',
    about: 'Share of requests traced by traceidratio and parentbased_traceidratio.',
  },
  DISK_USD_PER_GB_HOUR: {
    group: 'Billing',
    /** Rate in micro-USD per GB per hour. */
    name: 'diskRatePerGb',
    takes: text('an amount in USD from 0 to 1 with at most 6 decimals', readGbRate),
    default: '0.00014',
    about: 'Disk price in USD per GB-hour. It is locked when an instance is deployed.',
    domain: true,
  },
  VOLUME_USD_PER_GB_HOUR: {
    group: 'Billing',
    /** Rate in micro-USD per GB per hour. */
    name: 'volumeRatePerGb',
    takes: text('an amount in USD from 0 to 1 with at most 6 decimals', readGbRate),
    default: '0.0001',
    about: 'Volume price in USD per GB-hour. It is locked when a volume is created.',
    domain: true,
  },
  VOLUME_SNAPSHOT_SECONDS: {
    group: 'Data',
    name: 'volumeSnapshotSeconds',
    takes: whole(10, 86_400),
    default: '600',
    about:
      'Seconds between volume snapshots while an instance runs. If its host is lost, at most this much work is lost.',
    domain: true,
  },
  GRACE_DAYS: {
    group: 'Billing',
    name: 'graceSeconds',
    takes: seconds(0, 365, SECONDS_PER_DAY),
    default: '7',
    about: "Days between running out of credit and the deletion of the account's instances and volumes.",
    domain: true,
  },
  COVER_HOURS: {
    group: 'Billing',
    name: 'coverSeconds',
    takes: seconds(0, 720, SECONDS_PER_HOUR),
    default: '1',
    about: 'Hours of all current charges that the balance must cover to deploy or start an instance.',
    domain: true,
  },
  VOLUME_HISTORY_FACTOR: {
    group: 'Billing',
    name: 'volumeHistoryFactor',
    takes: whole(1, 100),
    default: '3',
    about:
      "Maximum size of all of a volume's snapshots, as a multiple of the volume size. 1 GB is added to the result.",
    domain: true,
  },
  OPERATOR_NAME: {
    group: 'Billing',
    name: 'operatorName',
    takes: text('a name of at most 200 characters, without control characters', readName),
    default: 'GPU rental',
    about: 'Name of the operator in the console and in emails, and as the issuer of invoices and FOCUS exports.',
    domain: true,
  },
  OPERATOR_ADDRESS: {
    group: 'Billing',
    name: 'operatorAddress',
    takes: text('at most 500 characters', (input) => (input.length <= 500 ? input : undefined)),
    unset: 'no address',
    about: 'Postal address and tax number for invoices, with lines separated by |.',
    domain: true,
  },
  OPERATOR_CONTACT: {
    group: 'Billing',
    /** URL with the scheme mailto or https. */
    name: 'operatorContact',
    takes: text('an email address or an https URL of at most 500 characters', readContact),
    unset: 'the console names no contact',
    about: 'Email address or https URL at which renters ask for credit.',
    domain: true,
  },
  PROOF_ROOT_FILE: {
    group: 'Billing',
    name: 'proofRootFile',
    takes: anyText('a file path'),
    unset: 'roots are not written',
    about: 'File that gets each root of the public log as a line of JSON, shared by all gateways.',
    domain: true,
  },
  PROOF_ROOT_URL: {
    group: 'Billing',
    name: 'proofRootUrl',
    takes: address(['http:', 'https:'], 'https://witness.example/roots'),
    unset: 'roots are not sent',
    about: 'URL to which each root of the public log is sent until the response is 2xx.',
    domain: true,
  },
  MARKET_SOURCE: {
    group: 'Market',
    name: 'marketSource',
    takes: text('a file path or a URL such as https://example.com/listings.csv', (input) =>
      isAddress(input) || !HAS_SCHEME.test(input) ? input : undefined,
    ),
    unset: 'prices change only by import',
    about: 'CSV file of market listings, fetched on MARKET_SCHEDULE.',
    domain: true,
  },
  MARKET_SCHEDULE: {
    group: 'Market',
    name: 'marketSchedule',
    takes: text('a cron pattern in UTC with a next time, such as 0 4 * * 1', (input) =>
      isSchedule(input) ? input : undefined,
    ),
    default: '0 4 * * 1',
    about:
      'When to fetch MARKET_SOURCE, as a cron pattern in UTC, at most once per day. A sixth field at the front means seconds.',
    domain: true,
  },
  MARKET_MAX_JUMP_PERCENT: {
    group: 'Market',
    name: 'marketMaxJumpPercent',
    takes: whole(0, 100_000),
    default: '50',
    about: 'Price change or share of lost medians, in percent, above which an import requires --accept-jumps.',
    domain: true,
  },
  PAYMENTS: {
    group: 'Payments',
    name: 'payments',
    takes: oneOf(['shkeeper', 'btcpay'], 'shkeeper or btcpay'),
    unset: 'no top-ups',
    about: 'Payment processor for cryptocurrency: shkeeper or btcpay.',
  },
  PAYMENTS_URL: {
    group: 'Payments',
    name: 'paymentsUrl',
    takes: address(['http:', 'https:'], 'http://shkeeper:5000', (input) => input.replace(/\/+$/, '')),
    unset: 'required with PAYMENTS',
    about: 'URL of the payment processor.',
  },
  PAYMENTS_KEY: {
    group: 'Payments',
    name: 'paymentsKey',
    takes: anyText('an API key'),
    unset: 'required with PAYMENTS',
    about: "The processor's API key. SHKeeper also uses it to sign callbacks.",
  },
  PAYMENTS_SECRET: {
    group: 'Payments',
    name: 'paymentsSecret',
    takes: anyText("a webhook's secret"),
    unset: 'required with PAYMENTS=btcpay',
    about: 'Webhook secret in BTCPay Server.',
  },
  PAYMENTS_STORE: {
    group: 'Payments',
    name: 'paymentsStore',
    takes: anyText('the id of a store'),
    unset: 'required with PAYMENTS=btcpay',
    about: 'Store id in BTCPay Server.',
  },
  PAYMENTS_CALLBACK_URL: {
    group: 'Payments',
    name: 'paymentsCallbackUrl',
    takes: address(['http:', 'https:'], 'http://gateway:4000/payments/callback'),
    unset: 'PUBLIC_URL with /payments/callback',
    about: "Gateway URL for the processor's callbacks. Don't change it later.",
  },
  TOPUP_CONFIRMATIONS: {
    group: 'Payments',
    name: 'topUpConfirmations',
    takes: text('assets and numbers from 1 to 1000 such as BTC=3,USDT-TRX=25', readConfirmations),
    default: 'BTC=2,LTC=6,XMR=10,ETH=12,SOL=32,TRX=19,USDT-TRX=19,USDT-ETH=12,USDT-SOL=32',
    about: 'Number of confirmations after which a payment is final, for each asset.',
    domain: true,
  },
  TOPUP_ASK_ABOVE_USD: {
    group: 'Payments',
    /** Amount in micro-USD. */
    name: 'topUpAskAboveMicro',
    takes: text('an amount in USD from 0 to 1000000', readAskAbove),
    default: '500',
    about: 'USD credited to an account within 24 hours before further payments must be confirmed with the processor.',
    domain: true,
  },
} as const satisfies Record<string, Setting>;

type Rows = typeof SETTINGS;
type Variable = keyof Rows;
type Value<Row extends Setting> = z.output<Row['takes']> | (Row extends { default: string } ? never : null);
type Seed = NonNullable<Value<Rows['SEED']>>;

/** The configuration read from the environment. Unset values are null. */
export type Config = { -readonly [V in Variable as Rows[V]['name']]: V extends 'SEED' ? Seed : Value<Rows[V]> };

type DomainVariable = { [V in Variable]: Rows[V] extends { domain: true } ? V : never }[Variable];
type DomainConfig = Pick<Config, Rows[DomainVariable]['name']>;

declare module '../domain/kernel/settings.js' {
  // The domain doesn't import this file. Instead, the table adds its settings to the domain's own interface.
  interface Settings extends DomainConfig {}
}

/** Thrown for invalid settings. The message has a line for each invalid variable, with the values that it accepts. */
export class ConfigError extends Error {}

/** Loads variables that aren't set in the environment from an optional .env file in the working directory. */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new ConfigError(`.env can't be read: ${message}`);
  }
}

const environment = z.object(
  Object.fromEntries(
    Object.entries<Setting>(SETTINGS).map(([variable, row]) => [
      variable,
      row.default === undefined ? row.takes.optional() : row.takes.prefault(row.default),
    ]),
  ),
);

export function readConfig(env: NodeJS.ProcessEnv): Config {
  // A variable with an empty value, such as `PORT=` in a file, counts as unset.
  const rows: Readonly<Record<string, Setting>> = SETTINGS;
  const isSet = (variable: string, value: string | undefined) =>
    value !== undefined && (value !== '' || rows[variable]?.takesNothing === true);
  const input = Object.fromEntries(Object.entries(env).filter(([variable, value]) => isSet(variable, value)));
  const parsed = environment.safeParse(input);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('\n'));
  }
  const named = Object.entries<Setting>(SETTINGS).map(([variable, row]) => [row.name, parsed.data[variable] ?? null]);
  const config: Config = Object.fromEntries(named);
  checkPayments(config);
  if (config.smtpUrl !== null && config.mailFrom === null) throw new ConfigError('MAIL_FROM must be set with SMTP_URL');
  return { ...config, seed: config.seed ?? (config.databaseUrl === null ? 'demo' : 'catalogue') };
}

function checkPayments(config: Config): void {
  if (config.payments === null) return;
  const needed = { PAYMENTS_URL: config.paymentsUrl, PAYMENTS_KEY: config.paymentsKey };
  const ofBtcpay = { PAYMENTS_SECRET: config.paymentsSecret, PAYMENTS_STORE: config.paymentsStore };
  const missing = Object.entries({ ...needed, ...(config.payments === 'btcpay' && ofBtcpay) })
    .filter(([, value]) => value === null)
    .map(([variable]) => `${variable} must be set with PAYMENTS=${config.payments}`);
  if (missing.length > 0) throw new ConfigError(missing.join('\n'));
}

/** Returns the part of the configuration read by the domain's use cases. */
export function domainSettings(config: Config): DomainConfig {
  const rows = Object.values<Setting>(SETTINGS).filter((row) => row.domain === true);
  return Object.fromEntries(rows.map(({ name }) => [name, config[name as keyof Config]])) as unknown as DomainConfig;
}

/** Returns a variable's schema. `read` parses the variable's value, and returns undefined for an invalid string. */
function text<T>(takes: string, read: (input: string) => T | undefined) {
  return z
    .string()
    .transform((input, context) => {
      const value = read(input);
      if (value !== undefined) return value;
      context.addIssue({ code: 'custom', message: `must be ${takes}` });
      return z.NEVER;
    })
    .describe(takes);
}

function readKeys(input: string): string[] | undefined {
  const keys = input.split(',').map((key) => key.trim());
  return keys.every((key) => SEALING_KEY.test(key)) ? keys : undefined;
}

function readS3(input: string): { bucket: string; prefix: string } | undefined {
  const [, bucket, prefix = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]{0,200}))?$/.exec(input) ?? [];
  if (bucket === undefined) return undefined;
  const tidy = prefix.replace(/\/+$/, '');
  return { bucket, prefix: tidy === '' ? '' : `${tidy}/` };
}

function readPorts(input: string): { from: number; to: number } | undefined {
  const [, from = 0, to = 0] = (/^(\d{1,5})-(\d{1,5})$/.exec(input) ?? []).map(Number);
  const fits = from >= 1 && from <= to && to <= 65_535 && to - from < MAX_TCP_RANGE;
  return fits ? { from, to } : undefined;
}

function anyText(takes: string) {
  return text(takes, (input) => input);
}

function whole(min: number, max: number) {
  return text(`a whole number from ${min} to ${max}`, (input) => readWhole(input, min, max));
}

function seconds(min: number, max: number, secondsPerUnit: number) {
  return text(`a whole number from ${min} to ${max}`, (input) => {
    const units = readWhole(input, min, max);
    return units === undefined ? undefined : BigInt(units * secondsPerUnit);
  });
}

function oneOf<const T extends string>(choices: readonly T[], takes: string) {
  return text(takes, (input) => choices.find((choice) => choice === input));
}

function address(protocols: string[], example: string, tidy = (input: string) => input) {
  return text(`a URL such as ${example}`, (input) =>
    URL.canParse(input) && protocols.includes(new URL(input).protocol) ? tidy(input) : undefined,
  );
}

function readHub(input: string): string | undefined {
  if (!URL.canParse(input)) return undefined;
  const url = new URL(input);
  const isPlain = url.username + url.password + url.search + url.hash === '';
  return isPlain && isSecureUrl(url) ? input.replace(/\/+$/, '') : undefined;
}

function readSender(input: string): string | undefined {
  const [, name = '', address = ''] = /^(?:([\w .-]{1,60}) )?<?([^<>\s]+)>?$/.exec(input) ?? [];
  if (!isMailAddress(address)) return undefined;
  return name === '' ? address : `${name} <${address}>`;
}

function readContact(input: string): string | undefined {
  const at = input.lastIndexOf('@');
  // Escapes characters such as ?, which would begin the message's subject or text.
  if (isMailAddress(input)) return `mailto:${encodeURIComponent(input.slice(0, at))}${input.slice(at)}`;
  if (input.length > 500 || !URL.canParse(input)) return undefined;
  const { protocol, username, password, href } = new URL(input);
  return protocol === 'https:' && username + password === '' ? href : undefined;
}

function readName(input: string): string | undefined {
  const name = input.trim();
  return name !== '' && name.length <= 200 && name.search(UNPRINTABLE) < 0 ? name : undefined;
}

function readColour(input: string): string | undefined {
  const [, short, long] = /^#?(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(input) ?? [];
  const digits = long ?? short?.replace(/./g, '$&$&');
  return digits === undefined ? undefined : `#${digits.toLowerCase()}`;
}

function readSwitch(input: string): boolean | undefined {
  return input === 'on' ? true : input === 'off' ? false : undefined;
}

function readWhole(input: string, min: number, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(input) ? Number(input) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function readGbRate(input: string): bigint | undefined {
  const micro = parseUsd(input);
  return micro !== null && micro >= 0n && micro <= MAX_MICRO_PER_GB_HOUR ? micro : undefined;
}

function readAskAbove(input: string): bigint | undefined {
  const micro = parseUsd(input);
  return micro !== null && micro >= 0n && micro <= MAX_ASK_ABOVE_MICRO ? micro : undefined;
}

function readRatio(input: string): number | undefined {
  return /^(0|1|[01]?\.\d{1,9})$/.test(input) && Number(input) <= 1 ? Number(input) : undefined;
}

/** Parses W3C Baggage, which consists of percent-encoded names and values. */
function readHeaders(input: string): Readonly<Record<string, string>> | undefined {
  const pairs = input.split(',');
  const read = pairs.map((pair) => /^ *([\w-]+) *= *([^ ,;]*) *$/.exec(pair)).filter((pair) => pair !== null);
  if (read.length < pairs.length) return undefined;
  try {
    return Object.fromEntries(read.map(([, name, value = '']) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
}

function readOrigins(input: string): '*' | string[] | undefined {
  if (input === '*') return '*';
  const list = input.split(',').map((origin) => origin.trim());
  // An asterisk within an origin would never match.
  const isOrigin = (origin: string) =>
    URL.canParse(origin) && new URL(origin).origin === origin && !origin.includes('*');
  return list.every(isOrigin) ? list : undefined;
}

function readProxies(input: string): false | number | string[] | undefined {
  if (input === 'off') return false;
  return /^[1-9]$/.test(input) ? Number(input) : networksIn(input);
}

function readNetworks(input: string): string[] | undefined {
  return input === 'none' ? [] : networksIn(input);
}

function networksIn(input: string): string[] | undefined {
  const list = input.split(',').map((network) => network.trim());
  return list.every((network) => parseNetwork(network) !== null) ? list : undefined;
}

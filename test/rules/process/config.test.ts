import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Config, ConfigError, readConfig, SAMPLERS } from '../../../src/compose/config.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';

const DEFAULTS: Config = {
  port: 4000,
  host: '127.0.0.1',
  dataDir: '.data',
  databaseUrl: null,
  databaseReplicaUrl: null,
  secretsKeys: null,
  webhookNetworks: [],
  modelHub: null,
  smtpUrl: null,
  smtpTls: 'required',
  mailFrom: null,
  redisUrl: null,
  volumeStore: null,
  volumeHistoryFactor: 3,
  operatorName: 'GPU rental',
  operatorAddress: null,
  operatorContact: null,
  proofRootFile: null,
  proofRootUrl: null,
  serviceDomain: 'gpu.localhost',
  publicUrl: null,
  tcpPorts: null,
  sshPort: 2222,
  streamsUrl: null,
  corsOrigins: '*',
  trustProxy: false,
  console: true,
  consoleAccent: null,
  consoleLogo: null,
  signup: 'closed',
  introspection: true,
  seed: 'demo',
  logLevel: 'info',
  rateLimitPerMinute: 120,
  metricsPort: null,
  metricsHost: '127.0.0.1',
  tracesUrl: null,
  tracesHeaders: null,
  tracesService: 'gpu-rental-gateway',
  tracesSampler: 'parentbased_always_on',
  tracesRatio: 1,
  diskRatePerGb: 140n,
  volumeRatePerGb: 100n,
  graceSeconds: 604_800n,
  volumeSnapshotSeconds: 600,
  coverSeconds: 3_600n,
  marketSource: null,
  marketSchedule: '0 4 * * 1',
  marketMaxJumpPercent: 50,
  payments: null,
  paymentsUrl: null,
  paymentsKey: null,
  paymentsSecret: null,
  paymentsStore: null,
  paymentsCallbackUrl: null,
  topUpConfirmations: {
    BTC: 2,
    LTC: 6,
    XMR: 10,
    ETH: 12,
    SOL: 32,
    TRX: 19,
    'USDT-TRX': 19,
    'USDT-ETH': 12,
    'USDT-SOL': 32,
  },
  topUpAskAboveMicro: 500_000_000n,
};

interface Variable {
  /** Accepted values and the settings that they produce. */
  takes: [text: string, meaning: Partial<Config>][];
  refuses: string[];
  /** Variables that are required with it, and the settings that they produce. */
  alongside?: [env: Record<string, string>, meaning: Partial<Config>];
  /** The error message after the variable's name. */
  message: string;
}

const DATABASE_URL = 'postgresql://user:password@db.example:5432/gateway';
const AS_POSTGRES = 'must be a URL such as postgresql://user:password@host:5432/database';
const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const LABELS_200 = `${'a.'.repeat(99)}bc`;
const SEALING_KEY = 'ab'.repeat(32);
const OTHER_KEY = 'CD'.repeat(32);

const VARIABLES: Record<string, Variable> = {
  PORT: {
    takes: [
      ['0', { port: 0 }],
      ['65535', { port: 65_535 }],
      ['080', { port: 80 }],
    ],
    refuses: ['-1', '65536', '80.5', '8e3', '0x50', ' 80', '80 ', 'http', '99999999999999999999'],
    message: 'must be a whole number from 0 to 65535',
  },
  HOST: { takes: [['::', { host: '::' }]], refuses: [], message: '' },
  SSH_PORT: {
    takes: [
      ['0', { sshPort: 0 }],
      ['22', { sshPort: 22 }],
    ],
    refuses: ['-1', '65536', 'ssh', ' 22'],
    message: 'must be a whole number from 0 to 65535, or empty',
  },
  TCP_PORTS: {
    takes: [
      ['30000-30999', { tcpPorts: { from: 30_000, to: 30_999 } }],
      ['22-22', { tcpPorts: { from: 22, to: 22 } }],
    ],
    refuses: ['30000', '0-10', '10-9', '1-5001', '65000-65536', 'a-b'],
    message: 'must be a range such as 30000-30999, of at most 5000 ports',
  },
  STREAMS_URL: {
    takes: [['https://gateway-1.example.com/', { streamsUrl: 'https://gateway-1.example.com' }]],
    refuses: ['gateway-1.example.com', 'ssh://gateway-1.example.com'],
    message: 'must be a URL such as https://gateway-1.example.com',
  },
  DATA_DIR: { takes: [['/srv/gateway data', { dataDir: '/srv/gateway data' }]], refuses: [], message: '' },
  DATABASE_URL: {
    takes: [
      [DATABASE_URL, { databaseUrl: DATABASE_URL, seed: 'catalogue' }],
      ['postgres://localhost/x?sslmode=require', { databaseUrl: 'postgres://localhost/x?sslmode=require' }],
    ],
    refuses: ['localhost', 'mysql://localhost/x', 'http://localhost/x', '/var/run/postgresql', 'postgresql//x'],
    message: AS_POSTGRES,
  },
  DATABASE_REPLICA_URL: {
    takes: [[DATABASE_URL, { databaseReplicaUrl: DATABASE_URL }]],
    refuses: ['localhost', 'http://localhost/x'],
    message: AS_POSTGRES,
  },
  SECRETS_KEY: {
    takes: [
      [SEALING_KEY, { secretsKeys: [SEALING_KEY] }],
      [`${SEALING_KEY}, ${OTHER_KEY}`, { secretsKeys: [SEALING_KEY, OTHER_KEY] }],
    ],
    refuses: ['x', SEALING_KEY.slice(1), `${SEALING_KEY},`],
    message: 'must be one key of 64 hex characters, or several separated by commas',
  },
  VOLUME_STORE: {
    takes: [
      ['s3://volumes', { volumeStore: { bucket: 'volumes', prefix: '' } }],
      ['s3://my.bucket/gateway/one/', { volumeStore: { bucket: 'my.bucket', prefix: 'gateway/one/' } }],
    ],
    refuses: ['volumes', 's3://', 's3:///prefix', 's3://B', 'https://example.com', 's3://bucket/a b'],
    message: 'must be a URL such as s3://bucket/prefix',
  },
  REDIS_URL: {
    takes: [
      ['redis://127.0.0.1:6379', { redisUrl: 'redis://127.0.0.1:6379' }],
      ['rediss://:secret@cache.example/2', { redisUrl: 'rediss://:secret@cache.example/2' }],
    ],
    refuses: ['127.0.0.1:6379', 'http://127.0.0.1:6379', 'cache'],
    message: 'must be a URL such as redis://host:6379',
  },
  SERVICE_DOMAIN: {
    takes: [
      ['gpu.example.com', { serviceDomain: 'gpu.example.com' }],
      [LABELS_200, { serviceDomain: LABELS_200 }],
    ],
    refuses: ['GPU.example.com', '-a.com', 'a-.com', 'a..com', '.com', 'a b', 'https://a.com', `${LABELS_200}d`],
    message: 'must be a domain name in lower case',
  },
  PUBLIC_URL: {
    takes: [
      ['https://api.example.com', { publicUrl: 'https://api.example.com' }],
      ['http://api.example.com/gpu//', { publicUrl: 'http://api.example.com/gpu' }],
    ],
    refuses: ['api.example.com', 'ftp://api.example.com', '//api.example.com', '/v1'],
    message: 'must be a URL such as https://api.example.com',
  },
  CORS_ORIGINS: {
    takes: [
      ['*', { corsOrigins: '*' }],
      ['https://a.example', { corsOrigins: ['https://a.example'] }],
      ['https://a.example, http://b.example:3000', { corsOrigins: ['https://a.example', 'http://b.example:3000'] }],
    ],
    refuses: [
      'a.example',
      'https://a.example/',
      'https://a.example,',
      'https://a.example,*',
      'null',
      'https://*.example',
    ],
    message: 'must be * or origins separated by commas, such as https://console.example.com',
  },
  TRUST_PROXY: {
    takes: [
      ['off', { trustProxy: false }],
      ['1', { trustProxy: 1 }],
      ['9', { trustProxy: 9 }],
      ['10.0.0.0/8, ::1', { trustProxy: ['10.0.0.0/8', '::1'] }],
    ],
    refuses: [
      '0',
      '10',
      'on',
      'true',
      'proxy.example',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.1/8/8',
      '10.0.0.1,',
      'fe80::1%eth0',
    ],
    message: 'must be off, a number of proxies from 1 to 9, or addresses and networks such as 10.0.0.0/8',
  },
  CONSOLE: {
    takes: [
      ['on', { console: true }],
      ['off', { console: false }],
    ],
    refuses: ['true', '1', 'ON'],
    message: 'must be on or off',
  },
  CONSOLE_ACCENT: {
    takes: [
      ['#0F766E', { consoleAccent: '#0f766e' }],
      ['#e1d', { consoleAccent: '#ee11dd' }],
      ['0f766e', { consoleAccent: '#0f766e' }],
    ],
    refuses: ['red', '#12345', '#1234567', '#12345g', '#', '#fff;}', '#fff}*{color:red', 'url(x)', '#fff\n'],
    message: 'must be a colour such as #0f766e',
  },
  CONSOLE_LOGO: { takes: [['/srv/logo.svg', { consoleLogo: '/srv/logo.svg' }]], refuses: [], message: '' },
  WEBHOOK_NETWORKS: {
    takes: [
      ['none', { webhookNetworks: [] }],
      ['10.1.0.0/16, 127.0.0.1,fd00::/8', { webhookNetworks: ['10.1.0.0/16', '127.0.0.1', 'fd00::/8'] }],
    ],
    refuses: ['off', '10.0.0.0/33', 'localhost', '10.0.0.0/8,', 'fe80::1%eth0'],
    message: 'must be none, or networks such as 10.1.0.0/16,127.0.0.1',
  },
  MODEL_HUB: {
    takes: [
      ['https://huggingface.co/', { modelHub: 'https://huggingface.co' }],
      ['http://127.0.0.1:8080/hub', { modelHub: 'http://127.0.0.1:8080/hub' }],
    ],
    refuses: [
      'huggingface.co',
      'http://huggingface.co',
      'http://127.0.0.1.example.com',
      'https://user:word@huggingface.co',
      'https://huggingface.co/?q',
    ],
    message: 'must be an https URL such as https://huggingface.co (http only for loopback)',
  },
  SMTP_URL: {
    takes: [
      ['smtp://user:pass%40word@mail.example:587', { smtpUrl: 'smtp://user:pass%40word@mail.example:587' }],
      ['smtps://127.0.0.1', { smtpUrl: 'smtps://127.0.0.1' }],
    ],
    refuses: ['mail.example', 'http://mail.example', 'mail.example:25'],
    alongside: [{ MAIL_FROM: 'a@example.com' }, { mailFrom: 'a@example.com' }],
    message: 'must be a URL such as smtp://user:password@mail.example.com:587',
  },
  SMTP_TLS: {
    takes: [['offered', { smtpTls: 'offered' }]],
    refuses: ['off', 'Required'],
    message: 'must be required or offered',
  },
  MAIL_FROM: {
    takes: [
      ['notices@example.com', { mailFrom: 'notices@example.com' }],
      ['GPU rental <notices@example.com>', { mailFrom: 'GPU rental <notices@example.com>' }],
    ],
    refuses: [
      'notices',
      'a@example.com, b@example.com',
      'A <a@example.com>\nBcc: b@example.com',
      'A <b> <a@example.com>',
    ],
    message: 'must be an address such as notices@example.com, or GPU rental <notices@example.com>',
  },
  SIGNUP: {
    takes: [
      ['open', { signup: 'open' }],
      ['closed', { signup: 'closed' }],
    ],
    refuses: ['on', 'OPEN', 'everybody'],
    message: 'must be open or closed',
  },
  INTROSPECTION: {
    takes: [
      ['on', { introspection: true }],
      ['off', { introspection: false }],
    ],
    refuses: ['true', '1', 'ON'],
    message: 'must be on or off',
  },
  SEED: {
    takes: [
      ['demo', { seed: 'demo' }],
      ['catalogue', { seed: 'catalogue' }],
      ['none', { seed: 'none' }],
    ],
    refuses: ['Demo', 'catalog', 'true', 'demo '],
    message: 'must be demo, catalogue or none',
  },
  LOG_LEVEL: {
    takes: LEVELS.map((logLevel) => [logLevel, { logLevel }]),
    refuses: ['INFO', 'warning', '30', 'verbose'],
    message: `must be one of ${LEVELS.join(', ')}`,
  },
  RATE_LIMIT_PER_MINUTE: {
    takes: [
      ['0', { rateLimitPerMinute: 0 }],
      ['1000000', { rateLimitPerMinute: 1_000_000 }],
    ],
    refuses: ['-1', '1000001', '1.5', 'off'],
    message: 'must be a whole number from 0 to 1000000',
  },
  METRICS_PORT: {
    takes: [
      ['0', { metricsPort: 0 }],
      ['9464', { metricsPort: 9_464 }],
    ],
    refuses: ['-1', '65536', 'off'],
    message: 'must be a whole number from 0 to 65535',
  },
  METRICS_HOST: { takes: [['0.0.0.0', { metricsHost: '0.0.0.0' }]], refuses: [], message: '' },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    takes: [['http://collector:4318/', { tracesUrl: 'http://collector:4318' }]],
    refuses: ['collector:4318', 'grpc://collector:4317'],
    message: 'must be a URL such as http://127.0.0.1:4318',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    takes: [
      ['api-key=s3cret', { tracesHeaders: { 'api-key': 's3cret' } }],
      ['a=1, Authorization=Bearer%20x', { tracesHeaders: { a: '1', Authorization: 'Bearer x' } }],
    ],
    refuses: ['secret', 'a=b c', 'a=%E0%A4', 'a: b'],
    message: 'must be names and values such as api-key=secret,tenant=a',
  },
  OTEL_SERVICE_NAME: { takes: [['gateway-1', { tracesService: 'gateway-1' }]], refuses: [], message: '' },
  OTEL_TRACES_SAMPLER: {
    takes: [
      ['always_off', { tracesSampler: 'always_off' }],
      ['parentbased_traceidratio', { tracesSampler: 'parentbased_traceidratio' }],
    ],
    refuses: ['on', 'jaeger_remote', 'TraceIdRatio'],
    message: `must be one of ${SAMPLERS.join(', ')}`,
  },
  OTEL_TRACES_SAMPLER_ARG: {
    takes: [
      ['0', { tracesRatio: 0 }],
      ['0.1', { tracesRatio: 0.1 }],
      ['1', { tracesRatio: 1 }],
    ],
    refuses: ['-0.1', '1.1', '10%', '1e-1'],
    message: 'must be a number from 0 to 1',
  },
  DISK_USD_PER_GB_HOUR: {
    takes: [
      ['0', { diskRatePerGb: 0n }],
      ['0.000001', { diskRatePerGb: 1n }],
      ['1', { diskRatePerGb: 1_000_000n }],
    ],
    refuses: ['-0.1', '1.000001', '0.0000001', '1e-4', '.5', '0,1', 'free'],
    message: 'must be an amount in USD from 0 to 1 with at most 6 decimals',
  },
  VOLUME_USD_PER_GB_HOUR: {
    takes: [
      ['0', { volumeRatePerGb: 0n }],
      ['0.000001', { volumeRatePerGb: 1n }],
      ['1', { volumeRatePerGb: 1_000_000n }],
    ],
    refuses: ['-0.1', '1.000001', '0.0000001', '1e-4', '.5', '0,1', 'free'],
    message: 'must be an amount in USD from 0 to 1 with at most 6 decimals',
  },
  VOLUME_SNAPSHOT_SECONDS: {
    takes: [
      ['10', { volumeSnapshotSeconds: 10 }],
      ['86400', { volumeSnapshotSeconds: 86_400 }],
    ],
    refuses: ['9', '86401', '-1', '10.5', '10m'],
    message: 'must be a whole number from 10 to 86400',
  },
  GRACE_DAYS: {
    takes: [
      ['0', { graceSeconds: 0n }],
      ['365', { graceSeconds: 31_536_000n }],
    ],
    refuses: ['-1', '366', '0.5', '7d'],
    message: 'must be a whole number from 0 to 365',
  },
  COVER_HOURS: {
    takes: [
      ['0', { coverSeconds: 0n }],
      ['720', { coverSeconds: 2_592_000n }],
    ],
    refuses: ['-1', '721', '1.5', '1h'],
    message: 'must be a whole number from 0 to 720',
  },
  VOLUME_HISTORY_FACTOR: {
    takes: [
      ['1', { volumeHistoryFactor: 1 }],
      ['100', { volumeHistoryFactor: 100 }],
    ],
    refuses: ['0', '101', '2.5', 'x'],
    message: 'must be a whole number from 1 to 100',
  },
  OPERATOR_NAME: {
    takes: [
      ['Example GmbH', { operatorName: 'Example GmbH' }],
      [' <b>"A&B"</b> ', { operatorName: '<b>"A&B"</b>' }],
    ],
    refuses: ['x'.repeat(201), ' ', 'a\nb', 'a\u0000', '\u202egpj', 'a\u2028b', '\ud800'],
    message: 'must be a name of at most 200 characters, without control characters',
  },
  OPERATOR_ADDRESS: {
    takes: [['Main St 1|12345 Town', { operatorAddress: 'Main St 1|12345 Town' }]],
    refuses: ['x'.repeat(501)],
    message: 'must be at most 500 characters',
  },
  OPERATOR_CONTACT: {
    takes: [
      ['ops@example.com', { operatorContact: 'mailto:ops@example.com' }],
      ["o'brien?cc=x&y@example.com", { operatorContact: "mailto:o'brien%3Fcc%3Dx%26y@example.com" }],
      ['https://example.com/help?topic=credit', { operatorContact: 'https://example.com/help?topic=credit' }],
    ],
    refuses: [
      'ops',
      'Ops <ops@example.com>',
      'mailto:ops@example.com',
      'http://example.com',
      'javascript:alert(1)//@example.com',
      'https://user:secret@example.com',
      `https://example.com/${'x'.repeat(500)}`,
    ],
    message: 'must be an email address or an https URL of at most 500 characters',
  },
  PROOF_ROOT_FILE: {
    takes: [['/srv/roots.jsonl', { proofRootFile: '/srv/roots.jsonl' }]],
    refuses: [],
    message: 'must be a file path',
  },
  PROOF_ROOT_URL: {
    takes: [['https://witness.example/roots', { proofRootUrl: 'https://witness.example/roots' }]],
    refuses: ['witness.example', 'ftp://witness.example/'],
    message: 'must be a URL such as https://witness.example/roots',
  },
  MARKET_SOURCE: {
    takes: [
      ['/srv/market/listings.csv', { marketSource: '/srv/market/listings.csv' }],
      ['listings of the week.csv', { marketSource: 'listings of the week.csv' }],
      ['https://user:secret@example.com/l.csv?x=1', { marketSource: 'https://user:secret@example.com/l.csv?x=1' }],
      ['http://127.0.0.1:8080/', { marketSource: 'http://127.0.0.1:8080/' }],
    ],
    refuses: ['ftp://example.com/l.csv', 'file:///srv/l.csv', 'http:', 'https://', 'http://a b/'],
    message: 'must be a file path or a URL such as https://example.com/listings.csv',
  },
  MARKET_SCHEDULE: {
    takes: [
      ['30 23 * * *', { marketSchedule: '30 23 * * *' }],
      ['*/10 * * * * *', { marketSchedule: '*/10 * * * * *' }],
      ['0 4 * * MON-FRI', { marketSchedule: '0 4 * * MON-FRI' }],
    ],
    refuses: ['weekly', '@weekly', '4 * *', '60 4 * * 1', '0 4 31 2 *', '0 4 * * 1 2099', '2099-01-01T04:00:00'],
    message: 'must be a cron pattern in UTC with a next time, such as 0 4 * * 1',
  },
  MARKET_MAX_JUMP_PERCENT: {
    takes: [
      ['0', { marketMaxJumpPercent: 0 }],
      ['100000', { marketMaxJumpPercent: 100_000 }],
    ],
    refuses: ['-1', '100001', '12.5', '50%'],
    message: 'must be a whole number from 0 to 100000',
  },
  PAYMENTS: {
    takes: [
      ['shkeeper', { payments: 'shkeeper' }],
      ['btcpay', { payments: 'btcpay' }],
    ],
    refuses: ['SHKeeper', 'stripe', 'on'],
    alongside: [
      { PAYMENTS_URL: 'http://pay:5000', PAYMENTS_KEY: 'k', PAYMENTS_SECRET: 's', PAYMENTS_STORE: 'x' },
      { paymentsUrl: 'http://pay:5000', paymentsKey: 'k', paymentsSecret: 's', paymentsStore: 'x' },
    ],
    message: 'must be shkeeper or btcpay',
  },
  PAYMENTS_URL: {
    takes: [['https://pay.example.com/', { paymentsUrl: 'https://pay.example.com' }]],
    refuses: ['shkeeper:5000', 'ftp://pay'],
    message: 'must be a URL such as http://shkeeper:5000',
  },
  PAYMENTS_KEY: { takes: [['a key', { paymentsKey: 'a key' }]], refuses: [], message: '' },
  PAYMENTS_SECRET: { takes: [['a secret', { paymentsSecret: 'a secret' }]], refuses: [], message: '' },
  PAYMENTS_STORE: { takes: [['3ZyE', { paymentsStore: '3ZyE' }]], refuses: [], message: '' },
  PAYMENTS_CALLBACK_URL: {
    takes: [
      ['http://gateway:4000/payments/callback', { paymentsCallbackUrl: 'http://gateway:4000/payments/callback' }],
    ],
    refuses: ['gateway', 'ws://gateway/'],
    message: 'must be a URL such as http://gateway:4000/payments/callback',
  },
  TOPUP_CONFIRMATIONS: {
    takes: [
      ['BTC=3', { topUpConfirmations: { ...DEFAULTS.topUpConfirmations, BTC: 3 } }],
      ['LTC=1, USDT-TRX=1000', { topUpConfirmations: { ...DEFAULTS.topUpConfirmations, LTC: 1, 'USDT-TRX': 1_000 } }],
    ],
    refuses: ['6', 'BTC', 'BTC=0', 'BTC=1001', 'BTC=1.5', 'DOGE=2', 'USDT=2', 'toString=2'],
    message: 'must be assets and numbers from 1 to 1000 such as BTC=3,USDT-TRX=25',
  },
  TOPUP_ASK_ABOVE_USD: {
    takes: [
      ['0', { topUpAskAboveMicro: 0n }],
      ['1000000', { topUpAskAboveMicro: 1_000_000_000_000n }],
    ],
    refuses: ['-1', '1000000.01', '5e2', 'all'],
    message: 'must be an amount in USD from 0 to 1000000',
  },
};

/** Returns the error message of `readConfig`. Fails if it accepts the variables. */
function refusalOf(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error(`${JSON.stringify(env)} was accepted`);
}

describe('readConfig', () => {
  it('requires no variable', () => {
    expect(readConfig({})).toEqual(DEFAULTS);
  });

  it('treats an empty variable as unset, except that an empty SSH port disables SSH', () => {
    const nothing = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, '']));
    expect(readConfig(nothing)).toEqual({ ...DEFAULTS, sshPort: null });
  });

  it('ignores other programs’ variables', () => {
    expect(readConfig({ PATH: '/bin', port: '1', PGHOST: 'elsewhere' })).toEqual(DEFAULTS);
  });

  it.each(
    Object.entries(VARIABLES).flatMap(([name, { takes, alongside = [{}, {}] }]) =>
      takes.map(([text, meaning]) => ({ name, text, meaning, alongside })),
    ),
  )('reads $name=$text', ({ name, text, meaning, alongside: [env, besides] }) => {
    // The default seed depends on the database.
    const expected = { ...DEFAULTS, ...(name === 'DATABASE_URL' && { seed: 'catalogue' }), ...besides, ...meaning };
    expect(readConfig({ ...env, [name]: text })).toEqual(expected);
  });

  it.each(
    Object.entries(VARIABLES).flatMap(([name, { refuses, message }]) =>
      refuses.map((text) => ({ name, text, message })),
    ),
  )('rejects $name=$text and names the variable', ({ name, text, message }) => {
    expect(refusalOf({ [name]: text })).toBe(`${name} ${message}`);
  });

  it('defaults SEED to demo for the embedded database and to catalogue for any other', () => {
    expect(readConfig({}).seed).toBe('demo');
    expect(readConfig({ DATABASE_URL }).seed).toBe('catalogue');
    expect(readConfig({ DATABASE_URL, SEED: 'demo' }).seed).toBe('demo');
    expect(readConfig({ SEED: 'none' }).seed).toBe('none');
  });

  it("requires the payment processor's settings if PAYMENTS is set", () => {
    expect(refusalOf({ PAYMENTS: 'shkeeper' }).split('\n')).toEqual([
      'PAYMENTS_URL must be set with PAYMENTS=shkeeper',
      'PAYMENTS_KEY must be set with PAYMENTS=shkeeper',
    ]);
    expect(refusalOf({ PAYMENTS: 'btcpay', PAYMENTS_URL: 'http://pay', PAYMENTS_KEY: 'k' }).split('\n')).toEqual([
      'PAYMENTS_SECRET must be set with PAYMENTS=btcpay',
      'PAYMENTS_STORE must be set with PAYMENTS=btcpay',
    ]);
  });

  it('names all invalid variables, one per line', () => {
    const wrong = Object.entries(VARIABLES).filter(([, { refuses }]) => refuses.length > 0);
    const said = refusalOf(Object.fromEntries(wrong.map(([name, { refuses }]) => [name, refuses[0]!])));
    expect(said.split('\n')).toEqual(wrong.map(([name, { message }]) => `${name} ${message}`));
  });

  it('does not repeat a rejected value, since it may be a password', () => {
    expect(
      refusalOf({ DATABASE_URL: 'postgress://user:hunter2@host/x', REDIS_URL: 'http://:hunter2@h' }),
    ).not.toContain('hunter2');
  });
});

describe('.env.example', () => {
  const text = readFileSync(join(PACKAGE_ROOT, '.env.example'), 'utf8');

  it('lists exactly the variables that are read, in the same order', () => {
    const source = readFileSync(join(PACKAGE_ROOT, 'src/compose/config.ts'), 'utf8');
    const read = [...source.matchAll(/^ {2}([A-Z_]+): /gm)].map(([, name]) => name);
    expect([...text.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name)).toEqual(read);
    expect(Object.keys(VARIABLES)).toEqual(read);
  });

  it('contains only defaults when copied unchanged', () => {
    expect(readConfig(parseEnv(text) as NodeJS.ProcessEnv)).toEqual(DEFAULTS);
  });

  it('shows every default', () => {
    const unset = Object.entries(parseEnv(text)).flatMap(([name, value]) => (value === '' ? [name] : []));
    expect(unset.sort()).toEqual([
      'CONSOLE_ACCENT',
      'CONSOLE_LOGO',
      'DATABASE_REPLICA_URL',
      'DATABASE_URL',
      'MAIL_FROM',
      'MARKET_SOURCE',
      'METRICS_PORT',
      'MODEL_HUB',
      'OPERATOR_ADDRESS',
      'OPERATOR_CONTACT',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'PAYMENTS',
      'PAYMENTS_CALLBACK_URL',
      'PAYMENTS_KEY',
      'PAYMENTS_SECRET',
      'PAYMENTS_STORE',
      'PAYMENTS_URL',
      'PROOF_ROOT_FILE',
      'PROOF_ROOT_URL',
      'PUBLIC_URL',
      'REDIS_URL',
      'SECRETS_KEY',
      'SEED',
      'SMTP_URL',
      'STREAMS_URL',
      'TCP_PORTS',
      'VOLUME_STORE',
    ]);
  });

  it('explains each variable in the line above it', () => {
    const [, ...blocks] = text.trim().split(/\n\n/);
    const lines = blocks.join('\n').split('\n');
    expect(lines).toHaveLength(2 * Object.keys(VARIABLES).length);
    for (const [index, line] of lines.entries()) {
      expect(line).toMatch(index % 2 === 0 ? /^# [A-Z].{10,117}$/ : /^[A-Z_]+=(\S*|"[^"]+")$/);
    }
  });
});

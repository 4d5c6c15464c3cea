import { isIP } from 'node:net';
import { z } from 'zod';
import { isAddress } from './domain/market/market-source.js';
import { isSchedule } from './domain/market/schedule.js';
import { parseUsd } from './domain/rules/money.js';

/** Everything the environment decides; read nowhere else. */
export interface Config {
  port: number;
  host: string;
  dataDir: string;
  /** Null: the embedded database. */
  databaseUrl: string | null;
  redisUrl: string | null;
  serviceDomain: string;
  /** Null: the address that is listened on. */
  publicUrl: string | null;
  corsOrigins: '*' | string[];
  /** Proxies whose X-Forwarded-For is believed: none, so many in a row, or those of these addresses. */
  trustProxy: false | number | string[];
  introspection: boolean;
  seed: 'demo' | 'catalogue' | 'none';
  logLevel: string;
  rateLimitPerMinute: number;
  diskRatePerGb: bigint;
  graceSeconds: bigint;
  coverSeconds: bigint;
  /** Null: prices change by import alone. */
  marketSource: string | null;
  marketSchedule: string;
  marketMaxJumpPercent: number;
}

/** A wrong setting; the message names each variable and what it takes, a line for each. */
export class ConfigError extends Error {}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const SECONDS_PER_HOUR = 3_600;
const SECONDS_PER_DAY = 86_400;
const DOMAIN_NAME = /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const HAS_SCHEME = /^(https?:|[a-z][a-z0-9+.-]*:\/\/)/i;
const DEFAULT_DISK_MICRO_PER_GB_HOUR = 140n;
const MAX_DISK_MICRO_PER_GB_HOUR = 1_000_000n;

/** Takes over what a .env file in the working directory sets and the environment doesn't; there need not be one. */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new ConfigError(`.env can't be read: ${message}`);
  }
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  // A variable set to nothing, as `PORT=` in a file, counts as not set.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('\n'));
  }
  const read = parsed.data;
  return {
    port: read.PORT,
    host: read.HOST,
    dataDir: read.DATA_DIR,
    databaseUrl: read.DATABASE_URL ?? null,
    redisUrl: read.REDIS_URL ?? null,
    serviceDomain: read.SERVICE_DOMAIN,
    publicUrl: read.PUBLIC_URL ?? null,
    corsOrigins: read.CORS_ORIGINS,
    trustProxy: read.TRUST_PROXY,
    introspection: read.INTROSPECTION === 'on',
    seed: read.SEED ?? (read.DATABASE_URL === undefined ? 'demo' : 'catalogue'),
    logLevel: read.LOG_LEVEL,
    rateLimitPerMinute: read.RATE_LIMIT_PER_MINUTE,
    diskRatePerGb: read.DISK_USD_PER_GB_HOUR,
    graceSeconds: BigInt(read.GRACE_DAYS * SECONDS_PER_DAY),
    coverSeconds: BigInt(read.COVER_HOURS * SECONDS_PER_HOUR),
    marketSource: read.MARKET_SOURCE ?? null,
    marketSchedule: read.MARKET_SCHEDULE,
    marketMaxJumpPercent: read.MARKET_MAX_JUMP_PERCENT,
  };
}

const environment = z.object({
  PORT: whole(0, 65_535).default(4000),
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: address(['postgresql:', 'postgres:'], 'postgresql://user:password@host:5432/database').optional(),
  REDIS_URL: address(['redis:', 'rediss:'], 'redis://host:6379').optional(),
  SERVICE_DOMAIN: z.string().regex(DOMAIN_NAME, 'must be a domain name in lower case').default('gpu.localhost'),
  PUBLIC_URL: address(['http:', 'https:'], 'https://api.example.com')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  CORS_ORIGINS: z
    .string()
    .transform((text, context) => (text === '*' ? ('*' as const) : origins(text, context)))
    .default('*'),
  TRUST_PROXY: z
    .string()
    .transform((text, context) => (text === 'off' ? (false as const) : proxies(text, context)))
    .default(false),
  INTROSPECTION: z.enum(['on', 'off'], 'must be on or off').default('on'),
  SEED: z.enum(['demo', 'catalogue', 'none'], 'must be demo, catalogue or none').optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  RATE_LIMIT_PER_MINUTE: whole(0, 1_000_000).default(120),
  DISK_USD_PER_GB_HOUR: z
    .string()
    .transform((text, context) => {
      const micro = parseUsd(text);
      if (micro !== null && micro >= 0n && micro <= MAX_DISK_MICRO_PER_GB_HOUR) return micro;
      return refuse(context, 'must be an amount in USD from 0 to 1 with at most 6 decimals');
    })
    .default(DEFAULT_DISK_MICRO_PER_GB_HOUR),
  GRACE_DAYS: whole(0, 365).default(7),
  COVER_HOURS: whole(0, 720).default(1),
  MARKET_SOURCE: z
    .string()
    .refine(
      (text) => isAddress(text) || !HAS_SCHEME.test(text),
      'must be a file path or an address such as https://example.com/listings.csv',
    )
    .optional(),
  MARKET_SCHEDULE: z
    .string()
    .refine(isSchedule, 'must be a cron pattern in UTC that comes due, such as 0 4 * * 1')
    .default('0 4 * * 1'),
  MARKET_MAX_JUMP_PERCENT: whole(0, 100_000).default(50),
});

function whole(min: number, max: number) {
  return z.string().transform((text, context) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : refuse(context, `must be a whole number from ${min} to ${max}`);
  });
}

function address(protocols: string[], example: string) {
  return z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `must be an address such as ${example}`,
  });
}

function origins(text: string, context: z.RefinementCtx): string[] {
  const list = text.split(',').map((origin) => origin.trim());
  // A star within an origin would match nothing.
  const good = list.every(
    (origin) => URL.canParse(origin) && new URL(origin).origin === origin && !origin.includes('*'),
  );
  return good ? list : refuse(context, 'must be * or origins separated by commas, such as https://console.example.com');
}

function proxies(text: string, context: z.RefinementCtx): number | string[] {
  if (/^[1-9]$/.test(text)) return Number(text);
  const list = text.split(',').map((proxy) => proxy.trim());
  if (list.every(isProxy)) return list;
  return refuse(context, 'must be off, a number of proxies from 1 to 9, or addresses and networks such as 10.0.0.0/8');
}

function isProxy(text: string): boolean {
  const [ip, bits, ...rest] = text.split('/');
  const version = isIP(ip!);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

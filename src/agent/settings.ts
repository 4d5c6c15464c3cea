import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { MAX_CUT_OFF_SECONDS, MAX_STOP_SECONDS } from '../agent-protocol/limits.js';

/** All settings that the agent reads from the environment. No other code reads it. */
export interface AgentSettings {
  dataDir: string;
  /** Null means that the usual sockets are tried. */
  engineSocket: string | null;
  /** Folder that contains a user's own engine socket. */
  runtimeDir: string | null;
  /** The operator's registries, which may have non-public addresses. */
  registries: string[];
  /** Whether containers may mount FUSE file systems. */
  isFuseAllowed: boolean;
  stopSeconds: number;
  pullSeconds: number;
  pullKbPerSecond: number;
  /** At most MAX_CUT_OFF_SECONDS. */
  cutOffSeconds: number;
  /** Whether the operator set more than that. */
  isCutOffReduced: boolean;
  logLevel: string;
}

/** Command line options, which override the environment. */
export interface AgentOptions {
  dataDir?: string;
  engine?: string;
  allowFuse?: boolean;
}

/** Thrown for an invalid setting or wrong usage. The message is for the operator. */
export class UsageError extends Error {}

/** Matches a registry as it appears at the start of an image name. */
const REGISTRY = /^[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?$/;

const environment = z.object({
  GPU_AGENT_DATA_DIR: z.string().optional(),
  GPU_AGENT_ENGINE: z.string().optional(),
  GPU_AGENT_REGISTRIES: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter((registry) => registry !== ''))
    .pipe(z.array(z.string().regex(REGISTRY, 'must be registries such as registry.internal:5000, separated by commas')))
    .default([]),
  GPU_AGENT_ALLOW_FUSE: z.enum(['0', '1'], 'must be 1 for yes or 0 for no').default('0'),
  GPU_AGENT_STOP_SECONDS: whole(0, MAX_STOP_SECONDS).default(10),
  GPU_AGENT_PULL_SECONDS: whole(1, 86_400).default(1_200),
  GPU_AGENT_PULL_KB_PER_SECOND: whole(0, 1_000_000).default(100),
  // Higher values were once allowed. Refusing to run with one would leave containers running without an agent.
  GPU_AGENT_CUT_OFF_SECONDS: whole(1, 86_400).default(MAX_CUT_OFF_SECONDS),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a level such as info')
    .default('info'),
  XDG_RUNTIME_DIR: z.string().optional(),
  XDG_DATA_HOME: z.string().optional(),
});

export function readSettings(env: NodeJS.ProcessEnv, options: AgentOptions): AgentSettings {
  const variables = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = environment.safeParse(variables);
  if (!parsed.success) {
    throw new UsageError(parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '));
  }
  const read = parsed.data;
  return {
    dataDir: options.dataDir ?? read.GPU_AGENT_DATA_DIR ?? defaultDataDir(read.XDG_DATA_HOME),
    engineSocket: options.engine ?? read.GPU_AGENT_ENGINE ?? null,
    runtimeDir: read.XDG_RUNTIME_DIR ?? null,
    registries: read.GPU_AGENT_REGISTRIES,
    isFuseAllowed: options.allowFuse ?? read.GPU_AGENT_ALLOW_FUSE === '1',
    stopSeconds: read.GPU_AGENT_STOP_SECONDS,
    pullSeconds: read.GPU_AGENT_PULL_SECONDS,
    pullKbPerSecond: read.GPU_AGENT_PULL_KB_PER_SECOND,
    cutOffSeconds: Math.min(read.GPU_AGENT_CUT_OFF_SECONDS, MAX_CUT_OFF_SECONDS),
    isCutOffReduced: read.GPU_AGENT_CUT_OFF_SECONDS > MAX_CUT_OFF_SECONDS,
    logLevel: read.LOG_LEVEL,
  };
}

function defaultDataDir(dataHome: string | undefined): string {
  if (process.getuid?.() === 0 && existsSync('/var/lib')) return '/var/lib/gpu-agent';
  return join(dataHome ?? join(homedir(), '.local/share'), 'gpu-agent');
}

function whole(min: number, max: number) {
  return z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      message: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);
}

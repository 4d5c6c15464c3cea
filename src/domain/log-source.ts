import type { Readable } from 'node:stream';
import type { Instant } from './rules/time.js';

/** What the engine of an instance's machine keeps of its output. */
export interface LogSource {
  readonly stdout: Readable;
  readonly stderr: Readable;
  destroy(): void;
}

export interface WantedLogs {
  /** The account and key that ask; also the console session, where the key came by one. */
  opener: { accountId: string; keyId: string; session?: Buffer };
  instanceId: string;
  tail: number | null;
  since: Instant | null;
  follow: boolean;
}

/** Refuses with not_found, action_failed, rate_limited or unavailable. */
export type OpenLogs = (wanted: WantedLogs, signal: AbortSignal) => Promise<LogSource>;

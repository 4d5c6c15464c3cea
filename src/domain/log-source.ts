import type { Readable } from 'node:stream';
import type { Instant } from './rules/time.js';

/** The output of an instance that its machine's engine keeps, as lines of src/domain/rules/log-line.ts. */
export type LogSource = Readable;

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

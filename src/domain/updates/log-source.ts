import type { Readable } from 'node:stream';
import type { Instant } from '../kernel/time.js';

/**
 * The part of an instance's output kept by its machine's container engine, as lines in the format defined in
 * src/domain/updates/rules/log-line.ts.
 */
export type LogSource = Readable;

export interface WantedLogs {
  /** The account and API key that made the request, and the console session if there is one. */
  opener: { accountId: string; keyId: string; session?: Buffer };
  instanceId: string;
  tail: number | null;
  since: Instant | null;
  follow: boolean;
}

/** Opens an instance's log. Rejects with not_found, action_failed, rate_limited or unavailable. */
export type OpenLogs = (wanted: WantedLogs, signal: AbortSignal) => Promise<LogSource>;

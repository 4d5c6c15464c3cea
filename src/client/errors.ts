import type { RefusalCode } from './types.js';

/**
 * Why there is no answer to work with: `no_connection` the request or its answer got lost, `timed_out` it took too long,
 * `bad_answer` something else than the service answered, such as a proxy's own page.
 */
export type TransportCode = 'no_connection' | 'timed_out' | 'bad_answer';

export interface ErrorDetails {
  status?: number | null;
  requestId?: string | null;
  retryAfter?: number | null;
  cause?: unknown;
}

/** What every call of the client rejects with, but for an abort, which rejects with the signal's reason. */
export class GpuError extends Error {
  override readonly name: string = 'GpuError';
  readonly code: RefusalCode | TransportCode;
  /** The HTTP status; null when no answer came. */
  readonly status: number | null;
  /** Names the request in the service's log; null when no answer came. */
  readonly requestId: string | null;
  /** Seconds to wait before trying again, as the service says; null when it doesn't. */
  readonly retryAfter: number | null;
  /** How often the request was sent. */
  attempts = 1;
  /** Of a write: sent again with this key within 24 hours, it is done once, whatever became of this call. */
  idempotencyKey: string | null = null;

  constructor(code: RefusalCode | TransportCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfter = details.retryAfter ?? null;
  }
}

/** The service refused the request and says why. */
export class GpuRefusal extends GpuError {
  override readonly name = 'GpuRefusal';
  declare readonly code: RefusalCode;
  declare readonly status: number;
}

/** The service could not be reached or not be understood. Whether a write was done is not known. */
export class GpuConnectionError extends GpuError {
  override readonly name = 'GpuConnectionError';
  declare readonly code: TransportCode;
}

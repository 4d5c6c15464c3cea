import type { RefusalCode } from './types.js';

/**
 * Reason why there is no usable response. `no_connection`: the request or its response was lost. `timed_out`: it took
 * too long. `bad_answer`: the response came from something other than the service, such as a proxy.
 */
export type TransportCode = 'no_connection' | 'timed_out' | 'bad_answer';

export interface ErrorDetails {
  status?: number | null;
  requestId?: string | null;
  retryAfter?: number | null;
  cause?: unknown;
}

/** The error with which every failed client call rejects. An aborted call rejects with the signal's reason instead. */
export class GpuError extends Error {
  override readonly name: string = 'GpuError';
  readonly code: RefusalCode | TransportCode;
  /** HTTP status, or null if no response arrived. */
  readonly status: number | null;
  /** Identifies the request in the service's log, or null if no response arrived. */
  readonly requestId: string | null;
  /** Seconds to wait before another attempt, or null if the service doesn't request a wait. */
  readonly retryAfter: number | null;
  /** Number of times the request was sent. */
  attempts = 1;
  /** A write's idempotency key. A write that is repeated with this key within 24 hours is executed only once. */
  idempotencyKey: string | null = null;

  constructor(code: RefusalCode | TransportCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfter = details.retryAfter ?? null;
  }
}

/** The service refused the request. The message explains why. */
export class GpuRefusal extends GpuError {
  override readonly name = 'GpuRefusal';
  declare readonly code: RefusalCode;
  declare readonly status: number;
}

/** No usable response arrived, so a write may or may not have been executed. */
export class GpuConnectionError extends GpuError {
  override readonly name = 'GpuConnectionError';
  declare readonly code: TransportCode;
}

import type { RefusalCode } from './types.js';

/**
 * Why there is no usable answer: `no_connection` the request or its answer was lost, `timed_out` it took too long,
 * `bad_answer` something other than the service answered, such as a proxy.
 */
export type TransportCode = 'no_connection' | 'timed_out' | 'bad_answer';

export interface ErrorDetails {
  status?: number | null;
  requestId?: string | null;
  retryAfter?: number | null;
  cause?: unknown;
}

/** Every failed call of the client rejects with this, except an aborted one, which rejects with the signal's reason. */
export class GpuError extends Error {
  override readonly name: string = 'GpuError';
  readonly code: RefusalCode | TransportCode;
  /** The HTTP status; null when no answer came. */
  readonly status: number | null;
  /** Names the request in the service's log; null when no answer came. */
  readonly requestId: string | null;
  /** Seconds to wait before trying again, if the service says so; else null. */
  readonly retryAfter: number | null;
  /** How many times the request was sent. */
  attempts = 1;
  /**
   * Key of a write. Repeated with this key within 24 hours, the write is done only once, whether or not this call was.
   */
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

/** The service could not be reached or understood. A write may or may not have been done. */
export class GpuConnectionError extends GpuError {
  override readonly name = 'GpuConnectionError';
  declare readonly code: TransportCode;
}

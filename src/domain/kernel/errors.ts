/** The service's error codes with their REST status codes (see docs/behaviour.md). */
export const STATUS_OF = {
  invalid_json: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  no_route: 404,
  method_not_allowed: 405,
  deploy_failed: 409,
  action_failed: 409,
  idempotency_in_progress: 409,
  payload_too_large: 413,
  invalid_request: 422,
  missing_machine: 422,
  bad_action: 422,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof STATUS_OF;

/** Reasons for rejecting a rental. */
export type RefusalReason =
  | 'unknown_machine'
  | 'not_listed'
  | 'taken'
  | 'disk'
  | 'price'
  | 'balance'
  | 'spend_limit'
  | 'instance_limit'
  | 'unknown_secret'
  | 'host_agent'
  | 'unknown_volume'
  | 'volume_held'
  | 'host_volumes'
  | 'tcp_ports'
  | 'nothing_fits';

/**
 * An expected error that rejects a request. `message` is meant for the caller, and `field` names the invalid input, if
 * any. Rules that can reject (`check…`, `claim`, `stateAfter`) throw this error. All other rules return a result.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** Number of whole seconds after which the same request may succeed. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * A more specific reason for when the code is too general. It is used for metrics, whereas callers read the message.
   */
  readonly reason: RefusalReason | undefined;
  /** The scope that the API key lacks. */
  readonly scope: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details: { field?: string; retryAfterSeconds?: number; reason?: RefusalReason; scope?: string } = {},
  ) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.field = details.field;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.reason = details.reason;
    this.scope = details.scope;
  }

  /** The error's GraphQL extensions, such as its code, REST status and invalid field. */
  get extensions(): Record<string, unknown> {
    const { code, field, retryAfterSeconds, scope } = this;
    return {
      code,
      status: STATUS_OF[code],
      ...(field !== undefined && { field }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(scope !== undefined && { scope }),
    };
  }
}

/** A rejection that is returned as a value instead of thrown, before anything has been done. */
export interface Refused {
  code: ErrorCode;
  message: string;
}

/** Returns the DomainError that the work rejects with, or null if it succeeds. */
export async function refusalOf(work: Promise<unknown>): Promise<DomainError | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

/** Returns the rejection thrown by `check`, or null if it doesn't throw one. */
export function refusedBy(check: () => void): Refused | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, message: error.message };
    throw error;
  }
}

/** The service's refusal codes with their REST statuses (contract section 7, docs/behaviour.md). */
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

/** Why a rental is refused. */
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
 * An expected refusal. `message` is for the caller, `field` names the invalid input if there is one. A rule that
 * refuses throws one (`check…`, `claim`, `stateAfter`); any other rule returns its result.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** Whole seconds after which the same request may succeed. */
  readonly retryAfterSeconds: number | undefined;
  /** The reason, if the code is too general. It is for metrics; callers read the message. */
  readonly reason: RefusalReason | undefined;
  /** The scope that the key lacks. */
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

  /** Error extensions in GraphQL: code, REST status, invalid field. */
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

/** A refusal returned as a value, before anything is done. */
export interface Refused {
  code: ErrorCode;
  message: string;
}

/** Returns the refusal that the work ends with; null if it succeeds. */
export async function refusalOf(work: Promise<unknown>): Promise<DomainError | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

/** Returns the refusal that `check` throws; null if it passes. */
export function refusedBy(check: () => void): Refused | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, message: error.message };
    throw error;
  }
}

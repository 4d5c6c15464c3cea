import { PothosValidationError } from '@pothos/core';
import { GraphQLError } from 'graphql';
import { isUnavailable } from '../database/faults.js';
import { DomainError, type ErrorCode, STATUS_OF } from '../domain/rules/errors.js';
import { RestRefusal } from '../rest/adapter.js';

/** What a caller is told of a fault, whichever way in it took. */
export interface Fault {
  code: ErrorCode;
  status: number;
  message: string;
  field?: string;
  retryAfterSeconds?: number;
  /** True when it is ours: nothing about it leaves the log. */
  unexpected: boolean;
}

const UNAVAILABLE_RETRY_SECONDS = 2;
const MAX_CAUSES = 4;

/** Refusals keep their words; a database that is away is `unavailable`; anything else is `internal` and says no more. */
export function describeFault(error: unknown): Fault {
  const cause = rootCause(error);
  if (cause instanceof DomainError) {
    const { code, message, field, retryAfterSeconds } = cause;
    return fault(code, message, { ...(field && { field }), ...(retryAfterSeconds && { retryAfterSeconds }) });
  }
  // What the relay arguments of a page can't be together: negative, or from both ends.
  if (cause instanceof PothosValidationError) return fault('invalid_request', cause.message);
  // A variable that may be null, given to an argument that may not: found out only when the field is run.
  if (cause instanceof GraphQLError && cause.nodes !== undefined) return fault('invalid_request', cause.message);
  if (cause instanceof RestRefusal) return fault(cause.code as ErrorCode, cause.message);
  if (isUnavailable(cause)) {
    return fault('unavailable', 'the service is busy or its database is away; try again', {
      retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
    });
  }
  return { ...fault('internal', 'internal error'), unexpected: true };
}

function fault(code: ErrorCode, message: string, details: Partial<Fault> = {}): Fault {
  return { code, status: STATUS_OF[code], message, unexpected: false, ...details };
}

/** GraphQL wraps what a resolver threw. */
function rootCause(error: unknown): unknown {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const inner = (cause as { originalError?: unknown } | null)?.originalError;
    if (inner === undefined || inner === null) return cause;
    cause = inner;
  }
  return cause;
}

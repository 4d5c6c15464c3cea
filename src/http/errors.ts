import { PothosValidationError } from '@pothos/core';
import type { ErrorRequestHandler } from 'express';
import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { isUnavailable } from '../database/faults.js';
import { DomainError, type ErrorCode, STATUS_OF } from '../domain/kernel/errors.js';
import { RestFault, RestRefusal } from '../rest/adapter.js';
import { createOutageLog } from '../std/outage-log.js';
import { type Refusal, sendError } from './error-envelope.js';
import { bodyFault } from './read-json.js';

/** An error as callers of either API see it. */
export interface Fault extends Refusal {
  /** The invalid input field, if there is one. */
  field?: string;
  /** The scope that the key lacks, if that is the reason. */
  scope?: string;
  /** Whether the gateway itself is at fault. The cause is then logged, but never sent to the caller. */
  unexpected: boolean;
  /** Reason why the database is unavailable. Only used for the log. */
  outage?: string;
}

/** Logs details that callers never see. `details` describes the request. */
export type LogFault = (fault: Fault, error: unknown, details?: object) => void;

const UNAVAILABLE_RETRY_SECONDS = 2;
const MAX_CAUSES = 4;

/**
 * Converts any error to a fault. A refusal keeps its message, an unreachable database becomes `unavailable`, and
 * anything else becomes `internal` without details.
 */
export function describeFault(error: unknown): Fault {
  const cause = rootCause(error);
  if (cause instanceof DomainError) {
    const { code, message, field, retryAfterSeconds, scope } = cause;
    return fault(code, message, {
      ...(field && { field }),
      ...(scope && { scope }),
      ...(retryAfterSeconds && { retryAfterSeconds }),
    });
  }
  // Contradictory Relay arguments, such as a negative page size or a page from both ends.
  if (cause instanceof PothosValidationError) return fault('invalid_request', cause.message);
  // A null variable for a non-null argument. GraphQL only detects it when the field runs.
  if (cause instanceof GraphQLError && cause.nodes !== undefined) return fault('invalid_request', cause.message);
  // REST treats codes as plain strings, which come from the schema's own definitions.
  if (cause instanceof RestRefusal) return fault(cause.code as ErrorCode, cause.message);
  if (isUnavailable(cause)) {
    return fault('unavailable', 'the service is busy or its database is unreachable; try again', {
      retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
      outage: (cause as Error).message,
    });
  }
  return { ...fault('internal', 'internal error'), unexpected: true };
}

/** Logs every fault of the gateway itself, but the reason for a database outage at most once every ten seconds. */
export function createFaultLog(log: Logger, where = ''): LogFault {
  const logOutage = createOutageLog(log, 'database unavailable');
  return ({ unexpected, outage }, error, details) => {
    if (unexpected) log.error({ err: error, ...details }, `unexpected error${where}`);
    if (outage !== undefined) logOutage(outage);
  };
}

/** The Express app's last error handler. Responds to every error with the envelope and logs unexpected ones. */
export function answerErrors(log: Logger): ErrorRequestHandler {
  const logFault = createFaultLog(log);
  return (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const fault = withRouteNames(error, describeFault(bodyFault(error) ?? error));
    logFault(fault, error, { id: request.state.id });
    sendError(response, fault);
  };
}

/** Replaces GraphQL field names with the route's own in errors caused by a route. */
function withRouteNames(error: unknown, { field, message, ...rest }: Fault): Fault {
  if (!(error instanceof RestFault) || field === undefined) return { message, ...rest };
  return { message: error.renamed(message, field), ...rest };
}

function fault(code: ErrorCode, message: string, details: Partial<Fault> = {}): Fault {
  return { code, status: STATUS_OF[code], message, unexpected: false, ...details };
}

/** Unwraps a resolver's error from GraphQL's own error. */
function rootCause(error: unknown): unknown {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const inner = (cause as { originalError?: unknown } | null)?.originalError;
    if (inner === undefined || inner === null) return cause;
    cause = inner;
  }
  return cause;
}

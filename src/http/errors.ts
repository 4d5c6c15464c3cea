import { PothosValidationError } from '@pothos/core';
import type { ErrorRequestHandler } from 'express';
import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { isUnavailable } from '../database/faults.js';
import { DomainError, type ErrorCode, STATUS_OF } from '../domain/rules/errors.js';
import { RestFault, RestRefusal } from '../rest/adapter.js';
import { type Refusal, sendError } from './error-envelope.js';
import { bodyFault } from './read-json.js';

/** An error as a caller sees it, on either surface. */
export interface Fault extends Refusal {
  /** The invalid input field, if there is one. */
  field?: string;
  /** The missing scope of the key, if that is the reason. */
  scope?: string;
  /** Whether it is an error of the gateway itself: its cause is logged and never sent. */
  unexpected: boolean;
  /** Why the database can't serve; only for the log. */
  outage?: string;
}

/** Logs details that callers don't see. `details` describe the request. */
export type LogFault = (fault: Fault, error: unknown, details?: object) => void;

const UNAVAILABLE_RETRY_SECONDS = 2;
/** An unreachable database refuses every request for the same reason. */
const OUTAGE_AGAIN_MS = 10_000;
const MAX_OUTAGES = 20;
const MAX_CAUSES = 4;

/**
 * Refusals keep their message; an unreachable database is `unavailable`; anything else is `internal`, without details.
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
  // Relay arguments that contradict each other: a negative page, or a page from both ends.
  if (cause instanceof PothosValidationError) return fault('invalid_request', cause.message);
  // A null variable for a non-null argument: GraphQL finds it only when the field runs.
  if (cause instanceof GraphQLError && cause.nodes !== undefined) return fault('invalid_request', cause.message);
  // REST knows codes only as text: they come from the schema's own definitions.
  if (cause instanceof RestRefusal) return fault(cause.code as ErrorCode, cause.message);
  if (isUnavailable(cause)) {
    return fault('unavailable', 'the service is busy or its database is unreachable; try again', {
      retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
      outage: (cause as Error).message,
    });
  }
  return { ...fault('internal', 'internal error'), unexpected: true };
}

/** Logs each fault of the gateway itself; the reason why the database can't serve once in ten seconds. */
export function createFaultLog(log: Logger, where = ''): LogFault {
  const loggedAtMs = new Map<string, number>();
  return ({ unexpected, outage }, error, details) => {
    if (unexpected) log.error({ err: error, ...details }, `unexpected error${where}`);
    if (outage === undefined) return;
    const now = performance.now();
    if (now - (loggedAtMs.get(outage) ?? Number.NEGATIVE_INFINITY) < OUTAGE_AGAIN_MS) return;
    if (loggedAtMs.size >= MAX_OUTAGES) loggedAtMs.clear();
    loggedAtMs.set(outage, now);
    log.warn({ reason: outage }, 'database unavailable');
  };
}

/** The last handler of the Express app: answers every error in the envelope and logs the unexpected ones. */
export function answerErrors(log: Logger): ErrorRequestHandler {
  const logFault = createFaultLog(log);
  return (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const fault = withRouteNames(error, describeFault(bodyFault(error) ?? error));
    logFault(fault, error, { id: request.state.id });
    sendError(response, fault);
  };
}

/** Replaces field names with the route's own, if a route refused. */
function withRouteNames(error: unknown, { field, message, ...rest }: Fault): Fault {
  if (!(error instanceof RestFault) || field === undefined) return { message, ...rest };
  return { message: error.renamed(message, field), ...rest };
}

function fault(code: ErrorCode, message: string, details: Partial<Fault> = {}): Fault {
  return { code, status: STATUS_OF[code], message, unexpected: false, ...details };
}

/** Returns the error that a resolver threw, which GraphQL wraps. */
function rootCause(error: unknown): unknown {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const inner = (cause as { originalError?: unknown } | null)?.originalError;
    if (inner === undefined || inner === null) return cause;
    cause = inner;
  }
  return cause;
}

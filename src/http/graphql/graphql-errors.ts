import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { type ErrorCode, STATUS_OF } from '../../domain/kernel/errors.js';
import { createFaultLog, describeFault, type Fault, type LogFault } from '../errors.js';

/**
 * The `http` member of an error's extensions, which holds the response's status and headers. It is removed from the
 * body.
 */
export interface HttpExtension {
  status: number;
  headers: Record<string, string>;
  /**
   * Whether the status is only sent with content types that allow error statuses. Responses in application/json then
   * keep status 200.
   */
  spec?: boolean;
}

/**
 * Codes that set the status if they are the only reason why no field was resolved. With any other code, the status
 * stays 200.
 */
const STATUS_CODES: ReadonlySet<string> = new Set(['unauthorized', 'unavailable', 'internal']);
/** Subscriptions are also rejected if too many are open. */
const SUBSCRIPTION_STATUS_CODES: ReadonlySet<string> = new Set([...STATUS_CODES, 'rate_limited']);

const YOGAS_CODE = 'BAD_USER_INPUT';

/** Maximum number of errors reported for a request that doesn't run. */
export const MAX_REQUEST_ERRORS = 10;
/** Maximum message length, because GraphQL's own messages quote names of any length. */
const MAX_MESSAGE_CHARACTERS = 300;

/** Creates the error that rejects a whole request before any of it runs. */
export function refusal(
  message: string,
  { status = STATUS_OF.invalid_request as number, code = 'invalid_request' as ErrorCode, spec = false } = {},
): GraphQLError {
  const http: HttpExtension = { status, headers: {}, ...(spec && { spec }) };
  return new GraphQLError(message, { extensions: { code, status, http } });
}

/**
 * Returns a function that converts any error to one that may be sent. The result has the service's code and status, but
 * no details meant for the log.
 */
export function createErrorMask(log: Logger): (error: unknown) => Error {
  const logFault = createFaultLog(log, ' in a resolver');
  return (error) => {
    if (isRequestError(error)) {
      // Yoga assigns a code to every request error except those for variables, and uses its own codes for subscription
      // errors.
      const { code = YOGAS_CODE } = error.extensions;
      if (code === YOGAS_CODE) error.extensions.code = 'invalid_request' satisfies ErrorCode;
      return error;
    }
    const masked = toGraphqlError(error, logFault);
    // The error was thrown before anything ran, for example because the key lookup failed, so no result carries the
    // status.
    if (masked.path === undefined) masked.extensions.http = httpOf(masked);
    return masked;
  };
}

/**
 * Returns whether GraphQL rejected the syntax, the document or the variables with its own message before anything ran.
 */
function isRequestError(error: unknown): error is GraphQLError {
  if (!(error instanceof GraphQLError) || error.path !== undefined) return false;
  return error.originalError == null || error.originalError instanceof GraphQLError;
}

/** Converts a fault to a GraphQL error with its code and REST status in the extensions. */
export function toGraphqlError(error: unknown, logFault: LogFault): GraphQLError {
  const fault = describeFault(error);
  const { code, status, message, field, retryAfterSeconds, scope } = fault;
  logFault(fault, error);
  const { nodes, source, positions, path } = error instanceof GraphQLError ? error : ({} as Partial<GraphQLError>);
  return new GraphQLError(shortened(message), {
    ...(nodes && { nodes }),
    ...(source && { source }),
    ...(positions && { positions }),
    ...(path && { path }),
    extensions: {
      code,
      status,
      ...(field && { field }),
      ...(retryAfterSeconds && { retryAfterSeconds }),
      ...(scope && { scope }),
    },
  });
}

/** Limits the number of errors for a request that didn't run. Fields that ran keep all their errors. */
export function withFewErrors<R extends Pick<ExecutionResult, 'data'> & { errors?: readonly Error[] }>(result: R): R {
  const { data, errors } = result;
  if (data !== undefined || errors === undefined) return result;
  for (const error of errors) error.message = shortened(withoutValue(error.message));
  if (errors.length <= MAX_REQUEST_ERRORS) return result;
  const listed = errors.slice(0, MAX_REQUEST_ERRORS - 1);
  const others = new GraphQLError(`and ${errors.length - listed.length} more errors`, {
    extensions: { code: 'invalid_request' satisfies ErrorCode },
  });
  return { ...result, errors: [...listed, others] };
}

/** Removes the rejected value from GraphQL's own messages, because it may be a secret. */
function withoutValue(message: string): string {
  const [, variable, refused] = /^(Variable "\$\w+") got invalid value (.*)$/s.exec(message) ?? [];
  if (variable !== undefined && refused !== undefined) {
    const why = refused.lastIndexOf('; ');
    const [at = ''] = / at "[\w.[\]]+"$/.exec(refused.slice(0, why)) ?? [];
    return withoutValue(`${variable} has an invalid value${at}; ${refused.slice(why + 2)}`);
  }
  return (
    message
      // Suggestions only contain names from the schema.
      .replace(/^(Enum "\w+" cannot represent [\w -]*value): (?:.*\.( Did you mean [^?]*\?)|.*)$/s, '$1.$2')
      .replace(/( cannot represent [\w -]*value): .*$/s, '$1')
      .replace(/(Expected value of type "[^"]+"), found (?:.*(; [^;]*)|.*)$/s, '$1$2')
  );
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_CHARACTERS ? message : `${message.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…`;
}

export function httpOf({ extensions }: GraphQLError): HttpExtension {
  const { code, status, retryAfterSeconds } = extensions as unknown as Fault;
  return httpExtension(status, code, retryAfterSeconds);
}

/** Returns the status for a result in which no field was resolved, or null if it stays 200. */
export function statusOf({ data, errors }: ExecutionResult): HttpExtension | null {
  if (errors === undefined || data === undefined) return null;
  if (data !== null && Object.values(data).some((value) => value !== null)) return null;
  return sharedStatus(errors, STATUS_CODES);
}

/** Does the same for a subscription that was rejected when opened. */
export function subscriptionStatusOf({ errors }: ExecutionResult): HttpExtension | null {
  return errors === undefined ? null : sharedStatus(errors, SUBSCRIPTION_STATUS_CODES);
}

function sharedStatus(errors: readonly GraphQLError[], codes: ReadonlySet<string>): HttpExtension | null {
  const [first, ...others] = errors.map((error) => describeFault(error));
  if (first === undefined || !codes.has(first.code) || others.some(({ code }) => code !== first.code)) return null;
  return httpExtension(first.status, first.code, first.retryAfterSeconds);
}

function httpExtension(status: number, code: string, retryAfterSeconds: number | undefined): HttpExtension {
  return {
    status,
    headers: {
      ...(code === 'unauthorized' && { 'WWW-Authenticate': 'Bearer' }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    },
  };
}

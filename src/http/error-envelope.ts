import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, STATUS_OF } from '../domain/kernel/errors.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** An error response of the REST API. */
export interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
  /** Seconds until a retry may succeed, as a whole number. Sent in the Retry-After header. */
  retryAfterSeconds?: number;
}

/** Returns the error envelope, which is the body of every error response outside GraphQL. */
export function errorBody({ code, message }: Pick<Refusal, 'code' | 'message'>): string {
  return JSON.stringify({ error: { code, message } });
}

/** Records an error code for the metrics. A connection that never sent a complete request has no state. */
export function recordRefusal({ state }: IncomingMessage, code: string): void {
  (state as typeof state | undefined)?.refusals.push(code);
}

/** Sends the error envelope. The headers required by its status are added to those already set on the response. */
export function sendError(response: ServerResponse, refusal: Refusal, headers: Record<string, string> = {}): void {
  const { status, retryAfterSeconds } = refusal;
  recordRefusal(response.req, refusal.code);
  const body = errorBody(refusal);
  response
    .writeHead(status, {
      ...headers,
      ...(status === STATUS_OF.unauthorized && { 'WWW-Authenticate': 'Bearer' }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
      'Content-Type': JSON_TYPE,
      'Content-Length': String(Buffer.byteLength(body)),
    })
    .end(body);
}

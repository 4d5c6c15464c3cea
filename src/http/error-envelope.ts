import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, STATUS_OF } from '../domain/rules/errors.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** A refusal on the REST surface. */
export interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
  /** Whole seconds, sent as Retry-After. */
  retryAfterSeconds?: number;
}

/** The error envelope: the body of every refusal outside GraphQL (contract section 7). */
export function errorBody({ code, message }: Pick<Refusal, 'code' | 'message'>): string {
  return JSON.stringify({ error: { code, message } });
}

/** Records a refusal for the metrics. A connection that never became a request has no state. */
export function recordRefusal({ state }: IncomingMessage, code: string): void {
  (state as typeof state | undefined)?.refusals.push(code);
}

/** Sends the envelope with the headers its status requires, in addition to those already set on the response. */
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

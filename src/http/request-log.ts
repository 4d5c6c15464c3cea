import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { addressOf } from './request-state.js';
import type { IsTrusted } from './trust-proxy.js';

const FIRST_REFUSAL = 400;

/** A request's log line. */
export interface RequestLine {
  id: string;
  method: string;
  /** The route's template, such as /v1/instances/{id}. */
  route: string;
  /** Status code, or null if nothing was sent. */
  status: number | null;
  /** Time from the request's head to the end of the response, in milliseconds with microsecond precision. */
  ms: number;
  /** Bytes sent, including the head. */
  bytes: number;
  account: string | null;
  /** Name of the GraphQL operation that ran. */
  operation: string | null;
  /** Client address, or null if the connection was already lost. */
  address: string | null;
  /** Id of the request's trace. */
  trace?: string;
  /** Whether the connection was lost before the response was sent. */
  aborted?: true;
}

export type WriteRequest = (line: RequestLine) => void;
export type LogRequest = (request: IncomingMessage, response: ServerResponse) => void;
/** Called when a request is over. `status` is null if nothing was sent. */
export type ObserveRequest = (request: IncomingMessage, status: number | null, ms: number) => void;

/**
 * Logs one line for each request that isn't routine, once its response has been sent or its connection is lost. The
 * line contains neither the path, query, headers nor body, because any of them may contain a key.
 */
export function createRequestLog(
  writeLine: WriteRequest | null,
  observe: ObserveRequest | null,
  isTrusted: IsTrusted,
): LogRequest {
  /** Bytes already attributed to responses, for each open connection, on which responses are sent in order. */
  const attributed = new WeakMap<Socket, number>();

  return (request, response) => {
    const { socket } = request;
    const startedAt = performance.now();
    // The value is undefined once the connection is closed, despite its type.
    const address: string | null = writeLine === null ? null : addressOf(request, isTrusted) || null;
    let isLogged = false;
    const write = (isFinished: boolean) => {
      if (isLogged) return;
      isLogged = true;
      const { id, route, accountId, operation, traceId, isRoutine } = request.state;
      const { bytesWritten } = socket;
      const bytes = bytesWritten - (attributed.get(socket) ?? 0);
      attributed.set(socket, bytesWritten);
      const status = response.headersSent && bytes > 0 ? response.statusCode : null;
      const ms = performance.now() - startedAt;
      observe?.(request, status, ms);
      if (writeLine === null || (isRoutine && response.statusCode < FIRST_REFUSAL)) return;
      // Writes to a lost connection also finish.
      const isAborted = !isFinished || socket.destroyed;
      writeLine({
        id,
        method: request.method!,
        route,
        status,
        ms: Math.round(ms * 1_000) / 1_000,
        bytes,
        account: accountId,
        operation: operation?.name ?? null,
        address,
        ...(traceId !== null && { trace: traceId }),
        ...(isAborted && { aborted: true }),
      });
    };
    // This runs before Node hands the connection to the response of a pipelined request.
    response.prependListener('finish', () => write(true));
    response.on('close', () => write(false));
  };
}

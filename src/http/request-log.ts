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
  /** Template of the route, such as /v1/instances/{id}. */
  route: string;
  /** Null if nothing was sent. */
  status: number | null;
  /** Milliseconds from the head of the request to the end of its answer, to the microsecond. */
  ms: number;
  /** Bytes sent, head and body. */
  bytes: number;
  account: string | null;
  /** Name of the GraphQL operation that ran. */
  operation: string | null;
  /** Null if the connection was already lost. */
  address: string | null;
  /** Id of the request's trace. */
  trace?: string;
  /** Whether the connection was lost before the answer was sent. */
  aborted?: true;
}

export type WriteRequest = (line: RequestLine) => void;
export type LogRequest = (request: IncomingMessage, response: ServerResponse) => void;
/** Called when a request is over; `status` is null if nothing was sent. */
export type ObserveRequest = (request: IncomingMessage, status: number | null, ms: number) => void;

/**
 * Logs one line for each request that is not routine, when its answer has been sent or its connection is lost. It
 * contains neither path, query, headers nor body: any of them may contain a key.
 */
export function createRequestLog(
  writeLine: WriteRequest | null,
  observe: ObserveRequest | null,
  isTrusted: IsTrusted,
): LogRequest {
  /** Bytes already attributed to answers, per open connection. Answers leave a connection in order. */
  const attributed = new WeakMap<Socket, number>();

  return (request, response) => {
    const { socket } = request;
    const startedAt = performance.now();
    // Unknown once the connection is closed, despite the type.
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
      // Writes to a lost connection finish too.
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
    // Runs before Node hands the connection to the answer of a pipelined request.
    response.prependListener('finish', () => write(true));
    response.on('close', () => write(false));
  };
}

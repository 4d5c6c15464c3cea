import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import type { IsTrusted } from './trust-proxy.js';

const FIRST_REFUSAL = 400;

export type LogRequest = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * One line for each request that is not routine, written when its answer has been sent or its connection is lost. It holds
 * neither path, query, headers nor body: any of them may contain a key. Null when the level leaves such lines out.
 */
export function createRequestLog(log: Logger, isTrusted: IsTrusted): LogRequest | null {
  if (!log.isLevelEnabled('info')) return null;
  /** Bytes already attributed to answers, of each open connection. Answers leave a connection in order. */
  const attributed = new WeakMap<Socket, number>();

  return (request, response) => {
    const { socket } = request;
    const startedAt = performance.now();
    // Unknown once the connection is closed.
    const address = proxyAddr(request, isTrusted);
    let isLogged = false;
    const write = (isFinished: boolean) => {
      if (isLogged) return;
      isLogged = true;
      const { id, route, accountId, operation, isRoutine } = request.state;
      const { bytesWritten } = socket;
      const bytes = bytesWritten - (attributed.get(socket) ?? 0);
      attributed.set(socket, bytesWritten);
      if (isRoutine && response.statusCode < FIRST_REFUSAL) return;
      // What is written to a lost connection finishes too.
      const isAborted = !isFinished || socket.destroyed;
      log.info(
        {
          id,
          method: request.method,
          route,
          status: response.headersSent && bytes > 0 ? response.statusCode : null,
          ms: Math.round((performance.now() - startedAt) * 1_000) / 1_000,
          bytes,
          account: accountId,
          operation: operation?.name ?? null,
          address,
          ...(isAborted && { aborted: true }),
        },
        'request',
      );
    };
    // Before Node hands the connection to the answer of a pipelined request.
    response.prependListener('finish', () => write(true));
    response.on('close', () => write(false));
  };
}

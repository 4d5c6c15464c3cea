import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Caller } from '../../domain/accounts/api-keys.js';
import { DomainError, STATUS_OF } from '../../domain/kernel/errors.js';
import type { Tunnels } from '../tunnels.js';
import { serveTerminal } from './serve-terminal.js';

export const TERMINAL_PATH = '/console/terminal';
/** Maximum number of terminals in this process, followed by the maximum per account. */
const MAX_TERMINALS = 1_000;
const MAX_TERMINALS_PER_ACCOUNT = 64;
/** Maximum size of a frame from a page, in bytes. */
const MAX_FRAME_BYTES = 65_536;
/** WebSocket close code that makes the page reconnect, because the gateway is restarting. */
const RESTARTS = 1_012;
/** Time after which a connection is terminated if its page hasn't closed it. */
const CLOSES_WITHIN_MS = 1_000;
const UNAVAILABLE = 503;
const INTERNAL = 500;

export interface TerminalsOptions {
  log: Logger;
  tunnels: Pick<Tunnels, 'open'>;
  /** Returns the caller whose page requests a terminal. Throws a DomainError if the page isn't allowed to. */
  identify(request: IncomingMessage): Promise<Caller>;
}

/** Browser terminals, which are WebSockets in this process that are connected to shells in instances. */
export class Terminals {
  readonly #options: TerminalsOptions;
  /** Open terminals with their accounts. */
  readonly #open = new Map<WebSocket, string>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
  });
  #isClosed = false;

  constructor(options: TerminalsOptions) {
    this.#options = options;
  }

  /** Takes over the connection of a page that requests a terminal. Returns false for any other connection. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    if (request.url !== TERMINAL_PATH) return false;
    socket.on('error', () => {});
    this.#accept(request, socket, head).catch((error: unknown) => {
      if (!(error instanceof DomainError))
        this.#options.log.error({ err: error }, 'browser terminal could not be opened');
      const isKnown = error instanceof DomainError;
      refuseUpgrade(socket, isKnown ? STATUS_OF[error.code] : INTERNAL);
    });
    return true;
  }

  /** Closes all terminals, whose pages then reconnect to another gateway. */
  close(): void {
    this.#isClosed = true;
    for (const ws of this.#open.keys()) {
      ws.close(RESTARTS);
      setTimeout(() => ws.terminate(), CLOSES_WITHIN_MS).unref();
    }
  }

  async #accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { log, tunnels, identify } = this.#options;
    const caller = await identify(request);
    const { accountId, keyId } = caller;
    const ofAccount = [...this.#open.values()].filter((other) => other === accountId).length;
    if (this.#isClosed || this.#open.size >= MAX_TERMINALS || ofAccount >= MAX_TERMINALS_PER_ACCOUNT)
      return refuseUpgrade(socket, UNAVAILABLE);
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      this.#open.set(ws, accountId);
      const began = performance.now();
      const terminal = serveTerminal(ws, caller, tunnels);
      ws.once('close', () => {
        this.#open.delete(ws);
        const seconds = Math.round(performance.now() - began) / 1_000;
        const of = { instance: terminal.instanceId, account: accountId, key: keyId, tunnel: terminal.tunnelId };
        log.info({ ...of, seconds }, 'browser terminal closed');
      });
    });
  }
}

function refuseUpgrade(socket: Duplex, status: number): void {
  if (socket.destroyed) return;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  setTimeout(() => socket.destroy(), CLOSES_WITHIN_MS).unref();
}

import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Caller } from '../../domain/accounts/api-keys.js';
import { DomainError, STATUS_OF } from '../../domain/rules/errors.js';
import type { Tunnels } from '../tunnels.js';
import { serveTerminal } from './serve-terminal.js';

export const TERMINAL_PATH = '/console/terminal';
/** In this process, and of one account in it. */
const MAX_TERMINALS = 1_000;
const MAX_TERMINALS_PER_ACCOUNT = 64;
/** Of what a page sends at once. */
const MAX_FRAME_BYTES = 65_536;
/** The gateway is restarted: the page connects again. */
const RESTARTS = 1_012;
/** Then a line that is not closed by its page is cut. */
const CLOSES_WITHIN_MS = 1_000;
const UNAVAILABLE = 503;
const INTERNAL = 500;

export interface TerminalsOptions {
  log: Logger;
  tunnels: Pick<Tunnels, 'open'>;
  /** Whom the page that asks for a terminal acts for; throws a DomainError for a page that may not. */
  identify(request: IncomingMessage): Promise<Caller>;
}

/** Terminals in browsers: the WebSockets of this process that lead to shells of instances. */
export class Terminals {
  readonly #options: TerminalsOptions;
  /** Open ones, by account. */
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

  /** Takes the connection of a page that asks for a terminal; false for any other. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    if (request.url !== TERMINAL_PATH) return false;
    socket.on('error', () => {});
    this.#accept(request, socket, head).catch((error: unknown) => {
      if (!(error instanceof DomainError)) this.#options.log.error({ err: error }, 'a terminal could not be opened');
      const isKnown = error instanceof DomainError;
      refuseUpgrade(socket, isKnown ? STATUS_OF[error.code] : INTERNAL);
    });
    return true;
  }

  /** Closes all; their pages come again, to another gateway. */
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
        log.info({ ...of, seconds }, 'a terminal in a browser ended');
      });
    });
  }
}

function refuseUpgrade(socket: Duplex, status: number): void {
  if (socket.destroyed) return;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  setTimeout(() => socket.destroy(), CLOSES_WITHIN_MS).unref();
}

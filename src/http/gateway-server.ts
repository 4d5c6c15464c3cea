import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendError } from './error-envelope.js';
import type { Messages } from './messages.js';
import { createHttpServer, type DrainableServer, type UpgradeListener } from './server.js';

/** Time for requests in flight to complete during shutdown. */
const DRAIN_MS = 6_000;
const IDLE_CHECK_MS = 50;
/** After this time, a request that sends no more data is not waited for. */
const SILENT_MS = 250;

/** The gateway's port: it listens before the gateway is ready, and answers 503 until then. */
export class GatewayServer {
  readonly #server: DrainableServer;
  #listener: RequestListener = answerStarting;
  #onUpgrade: UpgradeListener = () => false;
  #isServing = true;

  constructor(messages: Messages) {
    this.#server = createHttpServer(
      messages,
      (request, response) => {
        // A proxy keeps no connection that is about to be closed: a request on it would be lost.
        if (!this.#isServing) response.shouldKeepAlive = false;
        this.#listener(request, response);
      },
      undefined,
      (request, socket, head) => this.#onUpgrade(request, socket, head),
    );
  }

  /** Whether it is serving. False as soon as the shutdown begins: readiness fails. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** Listens and returns its address, such as http://127.0.0.1:4000. Rejects with Node's error if it can't. */
  listen({ host, port }: { host: string; port: number }): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        const bound = this.#server.address() as AddressInfo;
        const everywhere = host === '0.0.0.0' || host === '::';
        const name = everywhere ? 'localhost' : bound.family === 'IPv6' ? `[${bound.address}]` : host;
        resolve(`http://${name}:${bound.port}`);
      });
    });
  }

  /** Passes requests and WebSockets on, once the gateway is ready. */
  serve(listener: RequestListener, onUpgrade: UpgradeListener): void {
    this.#listener = listener;
    this.#onUpgrade = onUpgrade;
  }

  /** Requests are still answered, on connections that close afterwards. */
  stopServing(): void {
    this.#isServing = false;
  }

  /** Lets requests in flight complete, then closes the remaining connections. */
  async drain(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    // Repeatedly: a connection becomes idle when its request is answered, and would be kept for the next one.
    const idle = setInterval(() => {
      this.#server.closeIdleConnections();
      this.#server.closeSilent(SILENT_MS);
    }, IDLE_CHECK_MS);
    const cut = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
  }

  /** Closes immediately, aborting requests in progress. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const answerStarting: RequestListener = (_request, response) => {
  sendError(response, { status: 503, code: 'unavailable', message: 'the gateway is starting', retryAfterSeconds: 1 });
};

import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendError } from './error-envelope.js';
import type { Messages } from './messages.js';
import { createHttpServer, type DrainableServer, type UpgradeListener } from './server.js';

/** Time that in-flight requests have to complete during a shutdown. */
const DRAIN_MS = 6_000;
const IDLE_CHECK_MS = 50;
/** A shutdown stops waiting for a request that has sent no data for this long. */
const SILENT_MS = 250;

/** Listens on the gateway's port even before the gateway is ready, responding with 503 until then. */
export class GatewayServer {
  readonly #server: DrainableServer;
  #listener: RequestListener = answerStarting;
  #onUpgrade: UpgradeListener = () => false;
  #isServing = true;

  constructor(messages: Messages) {
    this.#server = createHttpServer(
      messages,
      (request, response) => {
        // Tells proxies not to reuse a connection that is about to close, because a request sent on it would be lost.
        if (!this.#isServing) response.shouldKeepAlive = false;
        this.#listener(request, response);
      },
      undefined,
      (request, socket, head) => this.#onUpgrade(request, socket, head),
    );
  }

  /** Whether the server is serving. False as soon as the shutdown begins, so that the readiness check fails. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** Starts listening. Resolves to the URL, such as http://127.0.0.1:4000, or rejects with Node's error. */
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

  /** Starts passing on requests and WebSockets once the gateway is ready. */
  serve(listener: RequestListener, onUpgrade: UpgradeListener): void {
    this.#listener = listener;
    this.#onUpgrade = onUpgrade;
  }

  /** Marks the server as not serving. Requests are still answered, but their connections are closed afterwards. */
  stopServing(): void {
    this.#isServing = false;
  }

  /** Waits for in-flight requests to complete, then closes the remaining connections. */
  async drain(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    // This is repeated because an answered request leaves its connection idle, and that would be kept for another
    // request.
    const idle = setInterval(() => {
      this.#server.closeIdleConnections();
      this.#server.closeSilent(SILENT_MS);
    }, IDLE_CHECK_MS);
    const cut = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
  }

  /** Closes immediately, aborting in-flight requests. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const answerStarting: RequestListener = (_request, response) => {
  sendError(response, { status: 503, code: 'unavailable', message: 'the gateway is starting', retryAfterSeconds: 1 });
};

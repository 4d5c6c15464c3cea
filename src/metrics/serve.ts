import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Thrown if the gateway can't listen on the port. The one-line message names the setting. */
export class MetricsPortUnusable extends Error {}

const PATH = '/metrics';
/** Maximum number of connections from scrapers. */
const MAX_CONNECTIONS = 32;
const TIMEOUT_MS = 5_000;

export interface MetricsServer {
  /** URL, such as http://127.0.0.1:9100/metrics. */
  address: string;
  close(): void;
}

/** Serves the string returned by `scrape` at /metrics, and nothing else. */
export async function serveMetrics(
  { host, port }: { host: string; port: number },
  scrape: () => Promise<{ type: string; text: string }>,
): Promise<MetricsServer> {
  const server = createServer({ headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS }, (request, response) => {
    const [path] = request.url?.split('?', 1) ?? [];
    if (path !== PATH) return void response.writeHead(404).end();
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return void response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    scrape().then(
      ({ type, text }) => response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, host, port);
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `http://${name}:${bound.port}${PATH}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const taken = code === 'EADDRINUSE';
      reject(
        new MetricsPortUnusable(
          taken
            ? `METRICS_PORT ${port} is in use by another program; set METRICS_PORT to another port, or to 0 for a free one`
            : `can't listen on METRICS_PORT ${port} of METRICS_HOST ${host}: ${message}`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface Received {
  id: string;
  type: string;
  timestamp: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads have many shapes
  data: any;
  headers: Record<string, string>;
  body: string;
}

/** Starts a receiver of webhooks. `answer` responds to each request, by default with 200. */
export async function startReceiver(
  answer: (event: Received, response: ServerResponse, request: IncomingMessage) => unknown = () => {},
) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const headers = request.headers as Record<string, string>;
    const event = { ...JSON.parse(body || '{}'), id: headers['webhook-id'], headers, body } as Received;
    received.push(event);
    const result = await answer(event, response, request);
    if (result !== 'silent' && !response.writableEnded) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    received,
    port,
    url: `http://127.0.0.1:${port}/hook`,
    types: () => received.map(({ type }) => type),
    /** Throws unless the library of the webhook specification accepts the request. */
    verify: (secret: string, { body, headers }: Received) => new Webhook(secret).verify(body, headers),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

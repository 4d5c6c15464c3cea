import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The fate of a request. With `pass`, it gets its response. With `lose request`, the service never receives it. With
 * `lose answer`, the service executes it, but the connection ends without a byte. With `cut answer`, the connection
 * ends within the body. With `hang`, nothing ever arrives. Otherwise, the fate is a response that replaces the
 * service's or a function that runs between execution and response.
 */
export type Fate = 'pass' | 'lose request' | 'lose answer' | 'cut answer' | 'hang' | Reply | (() => Promise<void>);

export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  atMs: number;
}

/** A connection to the gateway with faults that the test plans. */
export interface Wire {
  baseUrl: string;
  seen: Seen[];
  /** Sets the fates of the next requests, in this order. Later requests pass. */
  next(...fates: Fate[]): void;
  close(): Promise<void>;
}

export async function openWire(address: string): Promise<Wire> {
  const fates: Fate[] = [];
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    seen.push({ method, path: url, headers, atMs: performance.now() });
    meet(fates.shift() ?? 'pass', address, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    seen,
    next: (...more) => {
      fates.splice(0, fates.length, ...more);
      seen.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function meet(fate: Fate, address: string, request: IncomingMessage, response: ServerResponse): void {
  if (typeof fate === 'object') {
    response.writeHead(fate.status, fate.headers).end(fate.body ?? '');
    return;
  }
  if (fate === 'hang') return;
  if (fate === 'lose request') return void request.socket.destroy();
  const { method, url, headers } = request;
  const onward = forward(`${address}${url}`, { method, headers }, async (answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (fate === 'lose answer') return void request.socket.destroy();
    if (typeof fate === 'function') await fate();
    response.writeHead(answer.statusCode!, answer.headers);
    if (fate !== 'cut answer') return void response.end(body);
    response.write(body.subarray(0, body.length / 2), () => request.socket.destroy());
  });
  request.pipe(onward);
}

/** Returns an error response in the service's own form. */
export function refusal(status: number, code: string, retryAfter?: string): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) },
    body: JSON.stringify({ error: { code, message: `this is ${code}` } }),
  };
}

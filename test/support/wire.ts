import { connect } from 'node:net';

/** What the server sent on a dedicated connection until it closed that connection or fell silent. */
export interface WireAnswer {
  /** The status, or 0 if nothing arrived. */
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
  /** Time from the first byte sent until the connection was closed. */
  elapsedMs: number;
}

/** Sends bytes that no HTTP client would send, unchanged. The server must close the connection. */
export function send(address: string, bytes: string | Buffer, patienceMs = 3_000): Promise<WireAnswer> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve(parse(Buffer.concat(chunks).toString(), performance.now() - startedAt)));
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.write(bytes);
  });
}

/** Returns the first response if there are several. */
function parse(text: string, elapsedMs: number): WireAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = new Headers(
    fields.map((field): [string, string] => [field.split(':')[0]!, field.slice(field.indexOf(':') + 1)]),
  );
  const status = Number(line.split(' ')[1] ?? 0);
  const body = rest.join('\r\n\r\n').slice(0, Number(headers.get('content-length') ?? Number.POSITIVE_INFINITY));
  const isJson = headers.get('content-type')?.includes('json') === true && body !== '';
  return { status, headers, text, body: isJson ? JSON.parse(body) : body, elapsedMs };
}

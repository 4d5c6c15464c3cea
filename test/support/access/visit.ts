import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  text: string;
}

export interface VisitOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
}

/** Sends a request to a gateway with any Host, which `fetch` does not allow. */
export function open(
  gateway: string,
  host: string,
  path: string,
  options: VisitOptions = {},
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(gateway);
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = options;
    const call = request({ hostname, port, path, method, agent: false, headers: { host, ...headers } }, resolve);
    call.on('error', reject);
    call.end(body);
  });
}

export async function visit(gateway: string, host: string, path: string, options?: VisitOptions): Promise<Answer> {
  const answer = await open(gateway, host, path, options);
  const text = (await buffer(answer)).toString();
  return { status: answer.statusCode!, headers: answer.headers, rawHeaders: answer.rawHeaders, text };
}

/** Follows a link and returns the cookie that it yields, as a browser would send it. */
export async function follow(gateway: string, link: URL): Promise<string> {
  const { status, headers } = await visit(gateway, link.host, link.pathname + link.search);
  if (status !== 303) throw new Error(`the link is answered with ${status}`);
  return headers['set-cookie']![0]!.split(';')[0]!;
}

/** Uploads `bytes` bytes without holding them in memory, and returns the response. */
export function upload(
  gateway: string,
  host: string,
  path: string,
  headers: Record<string, string>,
  bytes: number,
): Promise<string> {
  const { hostname, port } = new URL(gateway);
  const chunk = Buffer.alloc(65_536, 'u');
  let left = bytes;
  const body = new Readable({
    read() {
      const size = Math.min(left, chunk.length);
      left -= size;
      this.push(size === 0 ? null : chunk.subarray(0, size));
    },
  });
  return new Promise((resolve, reject) => {
    const all = { host, 'content-length': String(bytes), ...headers };
    const call = request({ hostname, port, path, method: 'POST', agent: false, headers: all }, (answer) => {
      buffer(answer).then((text) => resolve(text.toString()), reject);
    });
    call.on('error', reject);
    body.pipe(call);
  });
}

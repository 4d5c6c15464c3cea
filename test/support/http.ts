import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';

/** A response as it arrived, with all headers and without decompression. */
export interface RawAnswer {
  status: number;
  /** Headers by lowercase name. The values of a repeated header are joined. */
  headers: Record<string, string>;
  bytes: Buffer;
  text: string;
}

export interface RawRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** Sends one request on its own connection with these headers, Host and the length of the body. */
export function sendRaw(address: string, path: string, { method, headers, body }: RawRequest = {}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const options = { method: method ?? (body === undefined ? 'GET' : 'POST'), headers: headers ?? {}, agent: false };
    const request = httpRequest(address + path, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(answerOf(response, Buffer.concat(chunks))));
    });
    request.on('error', reject);
    if (body !== undefined) request.setHeader('Content-Length', Buffer.byteLength(body));
    request.end(body);
  });
}

function answerOf({ statusCode, rawHeaders }: IncomingMessage, bytes: Buffer): RawAnswer {
  const headers: Record<string, string> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    const value = rawHeaders[index + 1]!;
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { status: statusCode!, headers, bytes, text: bytes.toString() };
}

/** A connection to which tests write bytes, and the responses that arrive on it. */
export class Line {
  readonly #socket: Socket;
  #got = Buffer.alloc(0);
  #isClosed = false;
  #onChange = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.#got = Buffer.concat([this.#got, chunk]);
      this.#onChange();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
      this.#onChange();
    });
  }

  static async open(address: string): Promise<Line> {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Line(socket);
  }

  write(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  /** Resolves to the next response. With `toHead`, it has no body, regardless of its length header. */
  async next(toHead = false): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#take(toHead);
      if (answer !== null) return answer;
      if (this.#isClosed) throw new Error(`the connection ended after ${JSON.stringify(this.#got.toString())}`);
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  /** Resolves to the unread bytes once the server has closed the connection. */
  async rest(): Promise<string> {
    while (!this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
    return this.#got.toString();
  }

  end(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(toHead: boolean): RawAnswer | null {
    const headEnd = this.#got.indexOf('\r\n\r\n');
    if (headEnd < 0) return null;
    const [line, ...fields] = this.#got.subarray(0, headEnd).toString().split('\r\n');
    const headers: Record<string, string> = {};
    for (const field of fields)
      headers[field.split(':')[0]!.toLowerCase()] = field.slice(field.indexOf(':') + 1).trim();
    const status = Number(line!.split(' ')[1]);
    const length = toHead || status === 304 || status === 204 ? 0 : Number(headers['content-length']);
    const end = headEnd + 4 + length;
    if (this.#got.length < end) return null;
    const bytes = this.#got.subarray(headEnd + 4, end);
    this.#got = this.#got.subarray(end);
    return { status, headers, bytes, text: bytes.toString() };
  }
}

import { randomBytes } from 'node:crypto';
import { type ClientOptions, WebSocket } from 'ws';
import { until } from '../until.js';

const SOON_MS = 30_000;

export const newShell = (): string => randomBytes(16).toString('hex');

/** Opens a console session with a key and returns its cookie as a browser would send it. */
export async function sessionOf(gateway: string, key: string): Promise<string> {
  const answer = await fetch(`${gateway}/console/session`, {
    method: 'POST',
    headers: { origin: gateway, 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  if (answer.status !== 201) throw new Error(`no session: ${answer.status} ${await answer.text()}`);
  return answer.headers.get('set-cookie')!.split(';')[0]!;
}

/** Returns the status with which the gateway responds to a WebSocket request, which is 101 if it accepts. */
export function knock(gateway: string, headers: Record<string, string>, path = '/console/terminal'): Promise<number> {
  const ws = new WebSocket(gateway.replace('http', 'ws') + path, { headers });
  return new Promise((resolve) => {
    ws.on('error', () => {});
    ws.once('unexpected-response', (request, response) => {
      resolve(response.statusCode!);
      request.destroy();
    });
    ws.once('open', () => {
      resolve(101);
      ws.terminate();
    });
  });
}

export interface TerminalRequest {
  instance: string;
  shell?: string;
  seen?: number;
  columns?: number;
  rows?: number;
  user?: string;
}

export interface PageOptions {
  /** Whether the page acknowledges what it has shown. */
  shows?: boolean;
  /** Options of the connection, for example for a proxy with TLS. */
  client?: ClientOptions;
}

/** Acts like a page of the console with one terminal, by using its WebSocket. */
export class TerminalPage {
  readonly shell: string;
  text = '';
  /** Position of the newest byte received. */
  place = 0;
  bytes = 0;
  opened: { from: number; to: number } | null = null;
  /** Why the terminal ended: `exit`, `taken` or `refused`. */
  last: { type: string; code?: number | null; reason?: string; message?: string } | null = null;
  closed: number | null = null;
  readonly ws: WebSocket;

  constructor(
    gateway: string,
    cookie: string,
    asked: TerminalRequest,
    { shows = true, client = {} }: PageOptions = {},
  ) {
    const { instance, shell = newShell(), seen = 0, columns = 80, rows = 24, user } = asked;
    this.shell = shell;
    const headers = { origin: gateway, cookie, ...client.headers };
    this.ws = new WebSocket(`${gateway.replace('http', 'ws')}/console/terminal`, { ...client, headers });
    this.ws.on('error', () => {});
    this.ws.once('open', () => this.send({ type: 'open', instance, shell, columns, rows, seen, user }));
    this.ws.once('close', (code) => {
      this.closed = code;
    });
    this.ws.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        this.bytes += data.length;
        this.place += data.length;
        this.text += data.toString('latin1');
        if (shows) this.send({ type: 'shown', bytes: this.place });
        return;
      }
      const words = JSON.parse(String(data));
      if (words.type === 'opened') [this.opened, this.place] = [words, words.from];
      else this.last = words;
    });
  }

  send(words: object): void {
    this.ws.send(JSON.stringify(words));
  }

  type(text: string): void {
    this.ws.send(Buffer.from(text));
  }

  async ready(): Promise<this> {
    await until(`it is opened: ${JSON.stringify(this.last)}`, () => this.opened ?? this.last, SOON_MS);
    if (this.opened === null) throw new Error(JSON.stringify(this.last));
    return this;
  }

  /** Waits until the received output contains a text. */
  async waitForText(words: string | RegExp): Promise<void> {
    const isThere = () => (typeof words === 'string' ? this.text.includes(words) : words.test(this.text));
    await until(`${words} is shown`, isThere, SOON_MS).catch((error) => {
      throw new Error(`${error.message}, but ${JSON.stringify(this.text.slice(-2_000))} ${JSON.stringify(this.last)}`);
    });
  }

  async end(): Promise<NonNullable<TerminalPage['last']>> {
    await until('it is closed', () => this.closed !== null, SOON_MS);
    return this.last ?? { type: `closed ${this.closed}` };
  }

  /** Disconnects as if the network had failed. */
  lose(): void {
    this.ws.terminate();
  }
}

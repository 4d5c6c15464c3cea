import { Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Caller } from '../../domain/accounts/api-keys.js';
import { DomainError } from '../../domain/kernel/errors.js';
import { checkScope } from '../../domain/kernel/scopes.js';
import { type Tunnel, TunnelRefused, type Tunnels } from '../tunnels.js';
import { type PageMessage, pageMessage, type TerminalMessage } from './messages.js';

/** A page that sends nothing for this long after connecting is disconnected. */
const OPENS_WITHIN_MS = 10_000;
/**
 * Maximum output that has been sent to a page but not displayed yet. A browser accepts any amount, and responses to
 * typed input would be delayed behind it.
 */
const MAX_UNSHOWN_BYTES = 262_144;
/** Maximum number of text frames per page per second. */
const MAX_MESSAGES_PER_SECOND = 1_000;
/** Minimum interval between resizes. While the user drags a window's edge, only the last size matters. */
const RESIZE_EVERY_MS = 50;
const PING_EVERY_MS = 20_000;
/** A page that sends no frame for this long is considered gone. */
const SILENT_MS = 60_000;
/** Maximum time for a closed shell to report its end. */
const ENDS_WITHIN_MS = 5_000;
const DONE = 1_000;
const BROKEN_RULES = 1_008;
const TRY_AGAIN = 1_013;

/** Environment variables that advertise a browser terminal's capabilities to programs. */
const VARIABLES = { TERM: 'xterm-256color', COLORTERM: 'truecolor' };

/** A terminal's details for the log, which are null until they are known. */
export interface ServedTerminal {
  instanceId: string | null;
  tunnelId: string | null;
}

/** Connects a page's WebSocket to the requested shell until either ends. */
export function serveTerminal(ws: WebSocket, caller: Caller, tunnels: Pick<Tunnels, 'open'>): ServedTerminal {
  return new Terminal(ws, caller, tunnels);
}

class Terminal implements ServedTerminal {
  instanceId: string | null = null;
  tunnelId: string | null = null;
  readonly #ws: WebSocket;
  readonly #caller: Caller;
  readonly #tunnels: Pick<Tunnels, 'open'>;
  readonly #gone = new AbortController();
  readonly #late: NodeJS.Timeout;
  readonly #pinging: NodeJS.Timeout;
  #tunnel: Tunnel | null = null;
  #receivedAt = performance.now();
  /** Number of output bytes sent so far. */
  #sent = 0;
  #shown = 0;
  #whenShown: (() => void) | null = null;
  #size: { columns: number; rows: number } | null = null;
  #resizing: NodeJS.Timeout | null = null;
  #messages = 0;
  #messagesSince = performance.now();

  constructor(ws: WebSocket, caller: Caller, tunnels: Pick<Tunnels, 'open'>) {
    this.#ws = ws;
    this.#caller = caller;
    this.#tunnels = tunnels;
    this.#late = setTimeout(() => ws.close(BROKEN_RULES), OPENS_WITHIN_MS);
    this.#pinging = setInterval(() => this.#ping(), PING_EVERY_MS);
    ws.on('error', () => {});
    ws.on('pong', () => this.#receive());
    ws.on('message', (data, isBinary) => this.#take(data as Buffer, isBinary));
    ws.once('close', () => this.#end());
  }

  #take(data: Buffer, isBinary: boolean): void {
    this.#receive();
    // Frames that arrive after the end are dropped.
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (isBinary) return void this.#type(data);
    const read = this.#isFlood() ? undefined : pageMessage.safeParse(parse(data.toString('utf8')));
    if (read?.success !== true) return void this.#ws.close(BROKEN_RULES);
    this.#handle(read.data);
  }

  #handle(message: PageMessage): void {
    if (message.type === 'open') {
      if (this.instanceId !== null) return void this.#ws.close(BROKEN_RULES);
      clearTimeout(this.#late);
      this.instanceId = message.instance;
      void this.#open(message);
    } else if (message.type === 'shown') this.#show(message.bytes);
    else if (message.type === 'resize') this.#resize(message);
    else this.#close();
  }

  /** Passes on typed input. Input that arrives before the shell is open is dropped. */
  #type(data: Buffer): void {
    const tunnel = this.#tunnel;
    if (tunnel === null || tunnel.destroyed || tunnel.write(data)) return;
    this.#ws.pause();
    tunnel.once('drain', () => this.#ws.resume());
  }

  async #open({ instance, shell, columns, rows, seen, user }: PageMessage & { type: 'open' }): Promise<void> {
    const { accountId, keyId: apiKeyId, session, scopes } = this.#caller;
    try {
      checkScope(scopes, 'terminal in a browser');
      const target = { kind: 'shell' as const, shell, env: VARIABLES, terminal: { columns, rows }, seen, user };
      const opener = { accountId, apiKeyId, session, sshKeyId: null };
      const tunnel = await this.#tunnels.open({ opener, instanceId: instance, target }, this.#gone.signal);
      if (this.#gone.signal.aborted) return void tunnel.destroy();
      this.#join(tunnel, seen);
    } catch (error) {
      this.#refuse(error as Error);
    }
  }

  #join(tunnel: Tunnel, seen: number): void {
    this.#tunnel = tunnel;
    this.tunnelId = tunnel.id;
    const { from, to } = tunnel.replay ?? { from: seen, to: seen };
    [this.#sent, this.#shown] = [from, from];
    this.#sendMessage({ type: 'opened', from, to });
    if (this.#size !== null) tunnel.resize(this.#size.columns, this.#size.rows);
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#sent += chunk.length;
        this.#ws.send(chunk, () => this.#wait(done));
      },
      final: (done) => {
        if (tunnel.wasTaken) this.#finish({ type: 'taken' });
        else if (tunnel.exitCode !== undefined) this.#finish({ type: 'exit', code: tunnel.exitCode });
        else this.#ws.close(TRY_AGAIN);
        done();
      },
    });
    tunnel.once('error', (error) => this.#refuse(error));
    tunnel.once('close', () => this.#ws.resume());
    tunnel.pipe(sink);
  }

  /** Waits until the page can display more output. In the meantime, the output stays in the shell. */
  #wait(done: () => void): void {
    if (this.#sent - this.#shown < MAX_UNSHOWN_BYTES) done();
    else this.#whenShown = done;
  }

  #show(bytes: number): void {
    this.#shown = Math.min(Math.max(this.#shown, bytes), this.#sent);
    const done = this.#whenShown;
    if (done === null) return;
    this.#whenShown = null;
    this.#wait(done);
  }

  #resize({ columns, rows }: { columns: number; rows: number }): void {
    this.#size = { columns, rows };
    this.#resizing ??= setTimeout(() => {
      this.#resizing = null;
      this.#tunnel?.resize(this.#size!.columns, this.#size!.rows);
    }, RESIZE_EVERY_MS);
  }

  /** Closes the shell at the page's request. The shell itself reports its end. */
  #close(): void {
    if (this.#tunnel === null) return void this.#ws.close(DONE);
    this.#tunnel.hangUp();
    setTimeout(() => this.#ws.close(DONE), ENDS_WITHIN_MS).unref();
  }

  #refuse(error: Error): void {
    if (error instanceof DomainError) this.#finish({ type: 'refused', reason: 'forbidden', message: error.message });
    // The page reconnects to another gateway, or to this one once its database is reachable again.
    else if (!(error instanceof TunnelRefused) || error.reason === 'ending') this.#ws.close(TRY_AGAIN);
    else this.#finish({ type: 'refused', reason: error.reason, message: error.message });
  }

  #finish(message: TerminalMessage): void {
    this.#sendMessage(message);
    this.#ws.close(DONE);
  }

  #sendMessage(message: TerminalMessage): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(JSON.stringify(message));
  }

  /** Ends the connection. The agent keeps the shell unless it was closed. */
  #end(): void {
    clearTimeout(this.#late);
    clearInterval(this.#pinging);
    clearTimeout(this.#resizing ?? undefined);
    this.#gone.abort();
    this.#tunnel?.destroy();
  }

  #receive(): void {
    this.#receivedAt = performance.now();
  }

  #ping(): void {
    // No input is received while the shell accepts none.
    if (this.#ws.isPaused) this.#receive();
    if (performance.now() - this.#receivedAt > SILENT_MS) this.#ws.terminate();
    else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.ping();
  }

  #isFlood(): boolean {
    const now = performance.now();
    if (now - this.#messagesSince > 1_000) [this.#messages, this.#messagesSince] = [0, now];
    this.#messages += 1;
    return this.#messages > MAX_MESSAGES_PER_SECOND;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

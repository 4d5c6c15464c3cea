import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { z } from 'zod';

/**
 * Tunnels connect the gateway to something inside an instance. When the gateway requests a tunnel, the agent finds it
 * in the response to its request for the desired state (`streams` in protocol.ts), and dials `/agent/v1/streams/{id}`
 * as a WebSocket with its machine token. A WebSocket passes through a reverse proxy, separates messages, and supports
 * backpressure.
 *
 * Text frames are control messages in JSON. Binary frames are data, whose first byte is the channel: 0 for the tunnel
 * itself and 1 for standard error. The gateway begins with `open`, and the agent responds with `opened` or `refused`.
 * Either side sends `end` when it has nothing more to send, and a command's `exit` follows all of its output. The
 * gateway closes the tunnel.
 */
export const TUNNELS_PATH = '/agent/v1/streams/';
/** Maximum open tunnels per instance. */
export const MAX_TUNNELS_PER_INSTANCE = 256;
/**
 * Maximum open tunnels per machine. A gateway opens fewer. The rest are reserved for tunnels that the gateway has
 * abandoned but the agent still holds.
 */
export const MAX_TUNNELS_PER_HOST = 1_024;
/** Seconds to wait for a tunnel to be dialled before abandoning it. */
export const WANT_SECONDS = 10;
/** Maximum size of one frame, in bytes. */
export const MAX_FRAME_BYTES = 1_048_576;
/** Maximum accumulated bytes to combine into one frame. Larger frames would cost more than they save. */
const SENT_TOGETHER_BYTES = 131_072;
/** Bytes that can wait for a reader on one side, in addition to those in the connection's own buffers. */
const BUFFERED_BYTES = 262_144;
const PING_EVERY_MS = 20_000;
/**
 * Maximum time without a message before the other side counts as gone. It only applies while messages are being read.
 */
const SILENT_MS = 60_000;
const MAX_ARGUMENT = 131_072;
const MAX_MESSAGE = 1_000;

/** Number of newest bytes of a shell's output to keep for replay. */
export const KEPT_OUTPUT_BYTES = 262_144;
/** Seconds to keep a shell that has no connected client. */
export const KEPT_SHELL_SECONDS = 300;
/** Format of a shell's id. */
export const SHELL_ID = /^[0-9a-f]{32}$/;
/** Maximum shells per instance, whether they are in use or only kept. */
export const MAX_SHELLS_PER_INSTANCE = 8;

const size = z.number().int().min(1).max(10_000);
const variables = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/), z.string().max(4_096));

/**
 * Name or id of the user to run as, validated by the gateway. If omitted, the container's user is used. Only sent to
 * agents that list `user` when they dial.
 */
const loginUser = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/);

/** A command that runs in a shell: the one named in /etc/passwd, otherwise bash, otherwise sh. */
const execTarget = z.object({
  kind: z.literal('exec'),
  /**
   * A command line for the shell, or null for the shell itself. In contrast, `argv` is run unchanged and without a
   * shell.
   */
  command: z.string().max(MAX_ARGUMENT).nullable(),
  argv: z.array(z.string().max(MAX_ARGUMENT)).min(1).max(100).nullable(),
  env: variables,
  /** Null if there is no terminal. Standard error is then a separate stream. */
  terminal: z.object({ columns: size, rows: size }).nullable(),
  user: loginUser.optional(),
});
/**
 * A shell with a terminal, which the agent keeps if its connection is lost. The client chooses the id, which is only
 * valid within the instance. If the shell exists, it continues, and its previous client receives `taken`.
 */
const shellTarget = z.object({
  kind: z.literal('shell'),
  shell: z.string().regex(SHELL_ID),
  env: variables,
  terminal: z.object({ columns: size, rows: size }),
  /**
   * Number of output bytes that the client has already shown. The bytes that follow are sent first, if they are still
   * kept.
   */
  seen: z.number().int().min(0),
  /** User for a new shell. */
  user: loginUser.optional(),
});
/** A TCP connection to a port inside the container, on its loopback or, failing that, on its own address. */
const portTarget = z.object({ kind: z.literal('port'), port: z.number().int().min(1).max(65_535) });
/** First character of log lines, which identifies standard output or standard error. */
export const LOG_MARKS = {
  stdout: { whole: 'o', unfinished: 'O' },
  stderr: { whole: 'e', unfinished: 'E' },
} as const;
/**
 * The container's output as lines, each preceded by its mark, its time (RFC 3339) and a space. Lines are in the
 * engine's order. An incomplete line is replaced by a later line of the same stream and time.
 */
const logsTarget = z.object({
  kind: z.literal('logs'),
  /** Number of lines from the end, or null for all that are kept. */
  tail: z.number().int().min(0).max(100_000).nullable(),
  /** Unix time in seconds, or null if there is no bound. */
  since: z.number().int().min(0).nullable(),
  follow: z.boolean(),
});
const tunnelTarget = z.discriminatedUnion('kind', [execTarget, portTarget, logsTarget, shellTarget]);
export type TunnelTarget = z.infer<typeof tunnelTarget>;
export type ExecTarget = z.infer<typeof execTarget>;
export type ShellTarget = z.infer<typeof shellTarget>;
/**
 * Tunnel kinds. An agent lists those it supports when it dials, separated by commas. An agent that lists none supports
 * the first three.
 */
export const TUNNEL_KINDS = ['exec', 'port', 'logs', 'shell'] as const satisfies readonly TunnelTarget['kind'][];
/** Listed after the kinds by an agent that can run commands as a user other than the container's. */
export const TUNNEL_USERS = 'user';
export const TUNNEL_KINDS_HEADER = 'gpu-tunnel-kinds';
export type LogsTarget = z.infer<typeof logsTarget>;

export const SIGNALS = ['HUP', 'INT', 'QUIT', 'KILL', 'TERM', 'USR1', 'USR2', 'ALRM', 'PIPE'] as const;
export type TunnelSignal = (typeof SIGNALS)[number];

const instance = z.string().regex(/^i-[a-f0-9]{8}$/);

/** Control messages sent by the gateway. */
export const gatewayControl = z.discriminatedUnion('type', [
  z.object({ type: z.literal('open'), instance, target: tunnelTarget }),
  z.object({ type: z.literal('resize'), columns: size, rows: size }),
  z.object({ type: z.literal('signal'), name: z.enum(SIGNALS) }),
  z.object({ type: z.literal('end') }),
]);
export type GatewayControl = z.infer<typeof gatewayControl>;

/**
 * Reasons for refusing a tunnel. `no_listener`: nothing listens on the port. `failed`: the command could not be
 * started, and the message says why.
 */
const REFUSALS = ['not_running', 'no_listener', 'busy', 'failed'] as const;

/**
 * Part of a shell's output, as byte positions in its whole output. The bytes that follow begin at `from`, and those
 * before `to` were written before this message. If `from` differs from the client's `seen`, some output is no longer
 * kept, or the shell is a new one.
 */
const replay = z.object({ from: z.number().int().min(0), to: z.number().int().min(0) });
export type Replay = z.infer<typeof replay>;

/** Control messages sent by the agent. */
export const agentControl = z.discriminatedUnion('type', [
  z.object({ type: z.literal('opened'), shell: replay.optional() }),
  z.object({ type: z.literal('refused'), reason: z.enum(REFUSALS), message: z.string().max(MAX_MESSAGE) }),
  /** A command's exit code, or null if unknown. */
  z.object({ type: z.literal('exit'), code: z.number().int().min(0).max(255).nullable() }),
  /** Another client has connected to the shell. */
  z.object({ type: z.literal('taken') }),
  z.object({ type: z.literal('end') }),
]);
export type AgentControl = z.infer<typeof agentControl>;

/**
 * Frames that were sent and can be reused, shared by all tunnels of the process. Allocating new ones would make V8
 * collect garbage often.
 */
const spareFrames: Buffer[] = [];
const MAX_SPARE_FRAMES = 32;

type Control = GatewayControl | AgentControl;

/** Limits for the control messages that one side receives. A tunnel that exceeds them is cut. */
interface ControlBounds {
  max: number;
  /** Maximum size of each message. */
  maxBytes: number;
}

/**
 * One end of a tunnel, read and written as bytes. `stderr` is the second channel, which the gateway reads and the agent
 * writes. A slow reader slows down the other side's writer: a full buffer pauses the connection, which blocks the
 * writer. Emits `control` for each message except `end`.
 */
export class TunnelSocket<Received extends Control, Sent extends Control> extends Duplex {
  readonly stderr: Duplex;
  /** Resolves when the other side is gone, which is earlier than `close` if there are unread bytes. */
  readonly gone: Promise<void>;
  bytesIn = 0;
  bytesOut = 0;
  readonly #ws: WebSocket;
  readonly #shape: z.ZodType<Received>;
  readonly #pinging: NodeJS.Timeout;
  #receivedAt = Date.now();
  readonly #controlBounds: ControlBounds | null;
  #controls = 0;
  /** Channels whose reader has fallen behind. */
  readonly #full = new Set<Duplex>();

  /** `controlBounds` is null if the other side is trusted, as the gateway is by its agents. */
  constructor(ws: WebSocket, shape: z.ZodType<Received>, controlBounds: ControlBounds | null = null) {
    super({ readableHighWaterMark: BUFFERED_BYTES, writableHighWaterMark: BUFFERED_BYTES });
    this.#ws = ws;
    this.#shape = shape;
    this.#controlBounds = controlBounds;
    this.stderr = new Duplex({
      readableHighWaterMark: BUFFERED_BYTES,
      read: () => this.#drained(this.stderr),
      write: (chunk, _encoding, done) => this.#send(1, [chunk], done),
    });
    this.stderr.on('error', () => {});
    this.gone = new Promise((resolve) => {
      for (const one of [ws, this]) one.once('close', resolve);
    });
    ws.on('message', (data, isBinary) => this.#take(data as Buffer, isBinary));
    ws.on('pong', () => this.#receive());
    ws.on('close', () => this.#closed());
    ws.on('error', (error) => this.destroy(error));
    this.#pinging = setInterval(() => this.#ping(), PING_EVERY_MS).unref();
  }

  /** Resolves when the connection has accepted everything written to both channels, or is closed. */
  async taken(): Promise<void> {
    const channels = [this, this.stderr];
    // An empty write completes after all pending ones.
    await Promise.all(channels.map((channel) => new Promise<void>((resolve) => channel.write('', () => resolve()))));
  }

  /** Sends a control message after the bytes that the connection has accepted. Nothing is sent after the end. */
  sendControl(message: Sent): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(JSON.stringify(message), ignore);
  }

  override _read(): void {
    this.#drained(this);
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#send(0, [chunk], done);
  }

  /** Combines chunks that have accumulated, because engines provide only 8 kB at a time. */
  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    const bytes = chunks.map(({ chunk }) => chunk);
    this.#send(0, bytes, done);
  }

  override _final(done: () => void): void {
    this.sendControl({ type: 'end' } as Sent);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#pinging);
    // Ends the second channel for its readers.
    if (!this.stderr.readableEnded) this.stderr.push(null);
    if (this.#isGentle || (error === null && this.readableEnded)) this.#ws.close(1_000);
    else this.#ws.terminate();
    done(error);
  }

  /** Allows bytes that were already sent to arrive when the tunnel is destroyed. */
  closeGently(): void {
    this.#isGentle = true;
  }
  #isGentle = false;

  /** Ends reading, because a command has ended or the other side sent `end`. */
  finishReading(): void {
    if (!this.#hasEnded) {
      this.#hasEnded = true;
      this.push(null);
      this.stderr.push(null);
    }
  }
  #hasEnded = false;

  #send(channel: number, chunks: readonly Buffer[], done: (error?: Error | null) => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) {
      done(new Error('the tunnel was disconnected'));
      return;
    }
    let left = chunks.reduce((sum, { length }) => sum + length, 0);
    this.bytesOut += left;
    if (left === 0) done();
    let [index, from] = [0, 0];
    while (left > 0) {
      const whole = spareFrames.pop() ?? Buffer.allocUnsafeSlow(SENT_TOGETHER_BYTES + 1);
      const frame = whole.subarray(0, Math.min(left, SENT_TOGETHER_BYTES) + 1);
      frame[0] = channel;
      for (let at = 1; at < frame.length; ) {
        const chunk = chunks[index]!;
        const copied = chunk.copy(frame, at, from);
        at += copied;
        from += copied;
        if (from === chunk.length) [index, from] = [index + 1, 0];
      }
      left -= frame.length - 1;
      const isLast = left === 0;
      this.#ws.send(frame, (error) => {
        if (!error && spareFrames.length < MAX_SPARE_FRAMES) spareFrames.push(whole);
        // The connection has only now accepted the last frame. Waiting for this slows the writer down.
        if (isLast) done(error);
      });
    }
  }

  #take(data: Buffer, isBinary: boolean): void {
    this.#receive();
    if (this.destroyed) return;
    if (isBinary) this.#takeBytes(data);
    else this.#takeControl(data);
  }

  #takeBytes(data: Buffer): void {
    if (this.#hasEnded) return;
    const channel = data[0] === 1 ? this.stderr : this;
    this.bytesIn += data.length - 1;
    if (data.length > 1 && !channel.push(data.subarray(1))) {
      this.#full.add(channel);
      this.#ws.pause();
    }
  }

  #takeControl(data: Buffer): void {
    this.#controls += 1;
    const bounds = this.#controlBounds;
    if (bounds !== null && (this.#controls > bounds.max || data.length > bounds.maxBytes)) {
      this.destroy(new Error('the other side sent too many or too large control messages'));
      return;
    }
    const read = this.#shape.safeParse(parse(data.toString('utf8')));
    // Unknown messages are ignored, because either side may be newer than the other.
    if (!read.success) return;
    if (read.data.type === 'end') this.finishReading();
    else this.emit('control', read.data);
  }

  #drained(channel: Duplex): void {
    if (this.#full.delete(channel) && this.#full.size === 0) this.#ws.resume();
  }

  #closed(): void {
    if (this.#hasEnded) this.#endSoon();
    else this.destroy(new Error('the tunnel was disconnected'));
  }

  /** Destroys the tunnel once the received bytes have been read. */
  #endSoon(): void {
    if (this.readableEnded) this.destroy();
    else this.once('end', () => this.destroy());
  }

  #receive(): void {
    this.#receivedAt = Date.now();
  }

  #ping(): void {
    // Pongs are not received while the reader is behind. A lost connection is then only detected when writing.
    if (this.#full.size > 0) this.#receive();
    if (Date.now() - this.#receivedAt > SILENT_MS) this.destroy(new Error('the other side stopped responding'));
    else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.ping(ignore);
  }
}

function ignore(): void {}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

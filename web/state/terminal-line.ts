import { signal } from '@preact/signals';

/**
 * State of the connection. It reconnects automatically if it is `lost`, or if it is `refused` with `again`. Any other
 * end is permanent.
 */
export type LineState =
  | { kind: 'opening' | 'open' | 'lost' | 'taken' | 'closed' }
  | { kind: 'exit'; code: number | null }
  | { kind: 'refused'; message: string; again: boolean };

type Frame =
  | { type: 'opened'; from: number; to: number }
  | { type: 'exit'; code: number | null }
  | { type: 'taken' }
  | { type: 'refused'; reason: string; message: string };

interface Options {
  instance: string;
  shell: string;
  /** The container user, or null for the container's own. */
  user: string | null;
  /**
   * Called when the connection opens. Output starts at position `from`, and everything before `to` is replayed.
   * `before` is the position the client had already received up to.
   */
  onOpened(replay: { from: number; to: number; before: number }): void;
  onOutput(bytes: Uint8Array<ArrayBuffer>): void;
}

const PATH = '/console/terminal';
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
/** Maximum size of the input in one frame, in bytes. Pasted text may be longer. */
const FRAME_BYTES = 16_384;
/**
 * Number of displayed bytes after which a report is sent. The service sends only a limited number of bytes beyond those
 * reported.
 */
const REPORT_EVERY_BYTES = 65_536;
/** Reasons for temporary refusals. */
const TEMPORARY_REASONS = new Set(['starting', 'unreachable']);

/** The connection between a terminal and its shell, which is reopened whenever it is lost. */
export class TerminalLine {
  readonly state = signal<LineState>({ kind: 'opening' });
  /** The terminal's size. */
  size = { columns: 80, rows: 24 };
  readonly #options: Options;
  #socket: WebSocket | null = null;
  #received = 0;
  #reported = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #timer = 0;
  readonly #encoder = new TextEncoder();

  constructor(options: Options) {
    this.#options = options;
    addEventListener('online', this.#online);
  }

  /** Returns the position in the shell's output after the last received byte. */
  get received(): number {
    return this.#received;
  }

  /** Reports that the output has been displayed up to this position, so that more may be sent. */
  show(place: number): void {
    if (place - this.#reported < REPORT_EVERY_BYTES) return;
    this.#reported = place;
    this.#send({ type: 'shown', bytes: place });
  }

  /** Opens the connection immediately. */
  open(): void {
    clearTimeout(this.#timer);
    this.#drop();
    this.state.value = { kind: 'opening' };
    const socket = new WebSocket(location.origin.replace(/^http/, 'ws') + PATH);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      const { instance, shell, user } = this.#options;
      const as = user === null ? {} : { user };
      this.#send({ type: 'open', instance, shell, ...this.size, seen: this.#received, ...as });
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') return this.#receive(JSON.parse(data));
      const bytes = new Uint8Array(data as ArrayBuffer);
      this.#received += bytes.length;
      this.#options.onOutput(bytes);
    };
    socket.onclose = () => {
      this.#socket = null;
      const { kind } = this.state.peek();
      if (kind === 'opening' || kind === 'open') this.#again({ kind: 'lost' });
    };
  }

  type(text: string): void {
    this.typeBytes(this.#encoder.encode(text));
  }

  /** Sends typed bytes. Without a connection, input is dropped, because its effect would not be visible. */
  typeBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.state.peek().kind !== 'open') return;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) this.#socket?.send(bytes.subarray(at, at + FRAME_BYTES));
  }

  resize(columns: number, rows: number): void {
    this.size = { columns, rows };
    if (this.state.peek().kind === 'open') this.#send({ type: 'resize', columns, rows });
  }

  /** Closes the connection and ends the shell, which is otherwise kept for a while. */
  end(): void {
    this.#send({ type: 'end' });
    const socket = this.#socket;
    // The service closes the connection once the shell has ended.
    if (socket !== null) socket.onmessage = socket.onclose = null;
    this.#socket = null;
    this.close();
  }

  close(): void {
    clearTimeout(this.#timer);
    removeEventListener('online', this.#online);
    this.#drop();
    this.state.value = { kind: 'closed' };
  }

  #receive(frame: Frame): void {
    if (frame.type === 'opened') {
      this.#pauseMs = FIRST_PAUSE_MS;
      const before = this.#received;
      this.#received = this.#reported = frame.from;
      this.state.value = { kind: 'open' };
      this.#options.onOpened({ ...frame, before });
    } else if (frame.type === 'refused') {
      const again = TEMPORARY_REASONS.has(frame.reason);
      const refused = { kind: 'refused', message: frame.message, again } as const;
      if (again) this.#again(refused);
      else this.state.value = refused;
    } else if (frame.type === 'exit') this.state.value = { kind: 'exit', code: frame.code };
    else this.state.value = { kind: 'taken' };
  }

  #again(state: LineState): void {
    this.state.value = state;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.open(), this.#pauseMs * (0.75 + Math.random() / 2));
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /** Reconnects as soon as the browser is back online, without waiting out the pause. */
  readonly #online = () => {
    if (this.state.peek().kind === 'lost') this.open();
  };

  #send(frame: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  #drop(): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}

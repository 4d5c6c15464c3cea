import '@xterm/xterm/css/xterm.css';
import { effect, signal } from '@preact/signals';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { visible } from '../figures/visible.js';
import { defineAdoptedStyle } from '../parts/adopted-style.js';
import { keepChoice, keptChoice } from '../state/kept-choice.js';
import { session } from '../state/session.js';
import { TerminalLine } from '../state/terminal-line.js';

/** Maximum number of terminals per instance, which is the number of shells that its host agent keeps. */
export const MAX_TERMINALS = 8;
/** Maximum number of terminals that a page keeps. Those that were shown longest ago are closed first. */
const MAX_KEPT = 16;
const FONT_PX = matchMedia('(max-width: 44rem)').matches ? 12 : 13;
const SCROLLBACK_LINES = 5_000;
const MAX_TITLE = 60;
/** If the output begins in the middle of a line, up to this many bytes may belong to the rest of that line. */
const MAX_REST_BYTES = 4_096;
const SHELL_BYTES = 16;
const [NEWLINE, RETURN] = [10, 13];
const READER = 'terminal-screen-reader';

/** Keys that phones lack, with the letter that ends an arrow's control sequence or the character that is sent. */
const PHONE_KEYS = {
  interrupt: '\u0003',
  escape: '\u001b',
  tab: '\t',
  up: 'A',
  down: 'B',
  right: 'C',
  left: 'D',
  slash: '/',
  pipe: '|',
  dash: '-',
} as const;

export type PhoneKey = keyof typeof PHONE_KEYS;

defineAdoptedStyle();

/** Resolves once the terminals' typeface is loaded, or can't be. */
const typeface = document.fonts
  .load(`${FONT_PX}px ${getComputedStyle(document.documentElement).getPropertyValue('--mono')}`)
  .catch(() => []);

/**
 * A terminal with its display and its connection to a shell. It lives as long as the page, no matter which screen is
 * shown.
 */
export class TerminalSession {
  readonly element = document.createElement('div');
  readonly line: TerminalLine;
  /** The title set by the program inside, which is untrusted text. */
  readonly title = signal('');
  /** Whether this is a different shell from the one shown before. */
  readonly isNew = signal(false);
  /** Whether Ctrl applies to the next character that is typed. */
  readonly isCtrl = signal(false);
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #resizes = new ResizeObserver(() => this.fit());
  #isOpened = false;
  #isDisposed = false;
  /** Position in the output up to which the terminal has already sent its automatic replies. */
  #answeredUntil = 0;
  /** Position up to which output has been displayed. */
  #shown = 0;
  #isRest = false;
  /** Whether the shell has only written empty lines so far. */
  #isBlank = false;
  /** Counts restarts. */
  #life = 0;

  constructor(
    readonly instance: string,
    readonly shell: string,
    readonly number: number,
    /** Whether the shell runs as root instead of as the container's own user. */
    readonly isRoot: boolean,
  ) {
    this.element.className = 'terminal-view';
    const terminal = new Terminal({
      scrollback: SCROLLBACK_LINES,
      minimumContrastRatio: 4.5,
      screenReaderMode: readsAloud.peek(),
      macOptionIsMeta: true,
      fontSize: FONT_PX,
      allowProposedApi: false,
    });
    this.#terminal = terminal;
    terminal.loadAddon(this.#fit);
    // A program must not be able to hide links behind text or access the clipboard.
    for (const ignored of [8, 52]) terminal.parser.registerOscHandler(ignored, () => true);
    terminal.onTitleChange((title) => {
      this.title.value = visible(title.slice(0, MAX_TITLE));
    });
    terminal.attachCustomKeyEventHandler((event) => takesKey(event, terminal));
    this.line = new TerminalLine({
      instance,
      shell,
      user: isRoot ? 'root' : null,
      onOpened: (replay) => this.#opened(replay),
      onOutput: (bytes) => this.#write(bytes),
    });
    terminal.onData((text) => {
      if (this.#shown >= this.#answeredUntil) this.line.type(this.#withCtrl(text));
    });
    terminal.onBinary((text) => this.line.typeBytes(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    terminal.onResize(({ cols, rows }) => this.line.resize(cols, rows));
  }

  /** Shows the terminal in an element on the page, with the keyboard focus. */
  async show(parent: HTMLElement): Promise<void> {
    parent.append(this.element);
    // The size of the cells is measured only once, so the typeface has to be there.
    await typeface;
    if (this.#isDisposed || !this.element.isConnected) return;
    if (!this.#isOpened) {
      this.#isOpened = true;
      this.#terminal.open(this.element);
      this.paint();
      this.fit();
      this.line.open();
    }
    this.#resizes.observe(this.element);
    this.paint();
    this.fit();
    this.focus();
  }

  hide(): void {
    this.#resizes.disconnect();
    this.element.remove();
  }

  focus(): void {
    this.#terminal.focus();
  }

  /** Types a key that phones lack. With Ctrl, an arrow moves by words. */
  press(key: PhoneKey): void {
    const code = PHONE_KEYS[key];
    const isArrow = /[A-D]/.test(code);
    const start = this.isCtrl.peek()
      ? '\u001b[1;5'
      : this.#terminal.modes.applicationCursorKeysMode
        ? '\u001bO'
        : '\u001b[';
    this.isCtrl.value = false;
    this.#terminal.input(isArrow ? start + code : code);
    this.focus();
  }

  /** Returns the control character of a typed letter if Ctrl is pressed, and otherwise the text unchanged. */
  #withCtrl(text: string): string {
    if (!this.isCtrl.peek() || !/^[@-_a-z]$/.test(text)) return text;
    this.isCtrl.value = false;
    return String.fromCharCode(text.charCodeAt(0) & 31);
  }

  /** Resizes the terminal to fit its element. */
  fit(): void {
    if (this.element.isConnected && this.element.clientWidth > 0) this.#fit.fit();
  }

  /** Applies the page's current colours. */
  paint(): void {
    const { color, backgroundColor, fontFamily, accentColor } = getComputedStyle(this.element);
    const { options } = this.#terminal;
    options.fontFamily = fontFamily;
    options.theme = {
      foreground: color,
      background: backgroundColor,
      cursor: color,
      cursorAccent: backgroundColor,
      selectionBackground: accentColor === 'auto' ? undefined : accentColor,
    };
  }

  set readsAloud(isOn: boolean) {
    this.#terminal.options.screenReaderMode = isOn;
  }

  /** Closes the terminal and its shell. */
  end(): void {
    this.line.end();
    this.#dispose();
  }

  /** Closes the terminal but keeps the shell for later. */
  close(): void {
    this.line.close();
    this.#dispose();
  }

  #dispose(): void {
    this.#isDisposed = true;
    this.hide();
    this.#terminal.dispose();
  }

  #opened({ from, to, before }: { from: number; to: number; before: number }): void {
    const isContinued = from === before;
    this.isNew.value = from < before;
    // The programs sent their queries to the previous terminal, which has already replied.
    this.#answeredUntil = isContinued && before > 0 ? 0 : to;
    this.#isRest = from > 0 && !isContinued;
    this.#isBlank = from === 0;
    this.#shown = from;
    if (!isContinued) {
      this.#life += 1;
      this.#terminal.reset();
    }
    this.fit();
    const { cols, rows } = this.#terminal;
    this.line.resize(cols, rows);
  }

  #write(bytes: Uint8Array<ArrayBuffer>): void {
    const place = this.line.received;
    const life = this.#life;
    // The output begins in the middle of a line or of a control sequence.
    let begin = this.#isRest ? bytes.subarray(0, MAX_REST_BYTES).indexOf(NEWLINE) + 1 : 0;
    // Some shells begin with empty lines, to set themselves apart from earlier output.
    if (this.#isBlank) {
      const first = bytes.findIndex((byte) => byte !== NEWLINE && byte !== RETURN);
      this.#isBlank = first < 0;
      begin = first < 0 ? bytes.length : first;
    }
    this.#isRest = false;
    this.#terminal.write(bytes.subarray(begin), () => {
      if (life !== this.#life) return;
      this.#shown = place;
      this.line.show(place);
    });
  }
}

/** Whether terminals are read aloud. This is a single setting for all of them and is stored in the browser. */
export const readsAloud = signal(keptChoice(READER) === 'yes');

const sessions = signal<readonly TerminalSession[]>([]);

export const terminalsOf = (instance: string): TerminalSession[] =>
  sessions.value.filter((each) => each.instance === instance);

/** Opens an instance's terminals as they were before the page was loaded, but at least one. */
export function openTerminals(instance: string): void {
  const known = new Set(sessions.peek().map(({ shell }) => shell));
  const before = read(instance).filter(({ shell }) => !known.has(shell));
  const opened = before.map(
    ({ shell, number, isRoot }) => new TerminalSession(instance, shell, number, isRoot === true),
  );
  keep([...sessions.peek(), ...opened]);
  if (!sessions.peek().some((each) => each.instance === instance)) newTerminal(instance);
}

export function newTerminal(instance: string, isRoot = false): TerminalSession {
  const taken = new Set(terminalsOf(instance).map(({ number }) => number));
  let number = 1;
  while (taken.has(number)) number += 1;
  const shell = [...crypto.getRandomValues(new Uint8Array(SHELL_BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  const created = new TerminalSession(instance, shell, number, isRoot);
  keep([...sessions.peek(), created]);
  return created;
}

export function endTerminal(ended: TerminalSession): void {
  ended.end();
  keep(sessions.peek().filter((each) => each !== ended));
}

function keep(all: readonly TerminalSession[]): void {
  for (const old of all.slice(0, -MAX_KEPT)) old.close();
  const before = sessions.peek();
  sessions.value = all.slice(-MAX_KEPT);
  for (const instance of new Set([...before, ...all].map((each) => each.instance))) write(instance);
}

/**
 * Storage key for the names of an instance's shells. The names are kept until the tab is closed, and don't give access
 * to the shells.
 */
const nameOf = (instance: string) => `terminals:${instance}`;

interface Remembered {
  shell: string;
  number: number;
  isRoot?: boolean;
}

function read(instance: string): Remembered[] {
  try {
    const found = JSON.parse(sessionStorage.getItem(nameOf(instance)) ?? '[]') as Remembered[];
    return found.filter(({ shell, number }) => /^[0-9a-f]{32}$/.test(shell) && Number.isInteger(number));
  } catch {
    return [];
  }
}

function write(instance: string): void {
  const own = sessions.peek().filter((each) => each.instance === instance);
  try {
    if (own.length === 0) sessionStorage.removeItem(nameOf(instance));
    else {
      const kept: Remembered[] = own.map(({ shell, number, isRoot }) => ({ shell, number, isRoot }));
      sessionStorage.setItem(nameOf(instance), JSON.stringify(kept));
    }
  } catch {
    // A browser without storage shows a new terminal after a reload.
  }
}

export function setReadsAloud(isOn: boolean): void {
  readsAloud.value = isOn;
  for (const each of sessions.peek()) each.readsAloud = isOn;
  keepChoice(READER, isOn ? 'yes' : 'no');
}

/** Closes all terminals when the session ends, so that the next account to sign in here sees none of them. */
effect(() => {
  if (session.value !== 'out' || sessions.peek().length === 0) return;
  for (const each of sessions.peek()) each.close();
  keep([]);
});

/** Repaints the terminals when the colour scheme changes. */
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const each of sessions.peek()) if (each.element.isConnected) each.paint();
});

/** Returns whether a key press is sent to the program rather than to the browser or the page. */
function takesKey(event: KeyboardEvent, terminal: Terminal): boolean {
  const { type, key, ctrlKey, shiftKey, altKey, metaKey } = event;
  if (!ctrlKey || altKey || metaKey) return true;
  const letter = key.toLowerCase();
  // The key copies the selection, as elsewhere. Without a selection, it interrupts the program.
  if (letter === 'c' && (shiftKey || terminal.hasSelection())) {
    if (type === 'keydown') {
      event.preventDefault();
      if (terminal.hasSelection()) document.execCommand('copy');
      terminal.clearSelection();
    }
    return false;
  }
  if (letter === 'v') return false;
  // The terminal's panel handles it.
  if (isFullScreenKey(event)) return false;
  // Tab is sent to the program, so another key is needed to leave the terminal.
  if (key === 'F6' && shiftKey) {
    if (type === 'keydown') document.querySelector<HTMLElement>('.terminal-bar [aria-pressed="true"]')?.focus();
    event.preventDefault();
    return false;
  }
  return true;
}

/** Returns whether a key press switches to or from full screen. The browser itself uses F11. */
export const isFullScreenKey = ({ key, ctrlKey, shiftKey }: KeyboardEvent): boolean =>
  key === 'F11' && ctrlKey && shiftKey;

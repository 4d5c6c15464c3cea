import '@xterm/xterm/css/xterm.css';
import { effect, signal } from '@preact/signals';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { visible } from '../figures/visible.js';
import { defineAdoptedStyle } from '../parts/adopted-style.js';
import { session } from '../state/session.js';
import { TerminalLine } from '../state/terminal-line.js';

/** Terminals of one instance: as many shells as its host agent keeps. */
export const MAX_TERMINALS = 8;
/** Terminals of all instances that a page keeps: the ones that were shown longest ago go. */
const MAX_KEPT = 16;
const SCROLLBACK_LINES = 5_000;
const MAX_TITLE = 60;
/** Where output begins in the middle, so much of it may be the rest of a line. */
const MAX_REST_BYTES = 4_096;
const SHELL_BYTES = 16;
const NEWLINE = 10;
const READER = 'terminal-screen-reader';

defineAdoptedStyle();

/** One terminal: what it shows, and its line to a shell. It lives as long as the page, whatever screen is shown. */
export class TerminalSession {
  readonly element = document.createElement('div');
  readonly line: TerminalLine;
  /** As the program inside gives it; text of others. */
  readonly title = signal('');
  /** The shell is another one than was shown before. */
  readonly isNew = signal(false);
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #resizes = new ResizeObserver(() => this.fit());
  #isOpened = false;
  /** Until this place of the output what the terminal answers by itself was answered before. */
  #answeredUntil = 0;
  /** The place in the output up to which it is shown. */
  #shown = 0;
  #isRest = false;
  /** Counts how often it began anew. */
  #life = 0;

  constructor(
    readonly instance: string,
    readonly shell: string,
    readonly number: number,
  ) {
    this.element.className = 'terminal-view';
    const terminal = new Terminal({
      scrollback: SCROLLBACK_LINES,
      minimumContrastRatio: 4.5,
      screenReaderMode: readsAloud.peek(),
      macOptionIsMeta: true,
      fontSize: 13,
      allowProposedApi: false,
    });
    this.#terminal = terminal;
    terminal.loadAddon(this.#fit);
    // A program must not put links under words, nor reach the clipboard.
    for (const ignored of [8, 52]) terminal.parser.registerOscHandler(ignored, () => true);
    terminal.onTitleChange((title) => {
      this.title.value = visible(title.slice(0, MAX_TITLE));
    });
    terminal.attachCustomKeyEventHandler((event) => takesKey(event, terminal));
    this.line = new TerminalLine({
      instance,
      shell,
      onOpened: (replay) => this.#opened(replay),
      onOutput: (bytes) => this.#write(bytes),
    });
    terminal.onData((text) => {
      if (this.#shown >= this.#answeredUntil) this.line.type(text);
    });
    terminal.onBinary((text) => this.line.typeBytes(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    terminal.onResize(({ cols, rows }) => this.line.resize(cols, rows));
  }

  /** Shows it in a part of the page. */
  show(parent: HTMLElement): void {
    parent.append(this.element);
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
  }

  hide(): void {
    this.#resizes.disconnect();
    this.element.remove();
  }

  focus(): void {
    this.#terminal.focus();
  }

  /** As large as its part of the page. */
  fit(): void {
    if (this.element.isConnected && this.element.clientWidth > 0) this.#fit.fit();
  }

  /** In the colours of the page as it is now. */
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

  set readsAloud(does: boolean) {
    this.#terminal.options.screenReaderMode = does;
  }

  /** Ends the shell too. */
  end(): void {
    this.line.end();
    this.#dispose();
  }

  /** Leaves the shell to be come back to. */
  close(): void {
    this.line.close();
    this.#dispose();
  }

  #dispose(): void {
    this.hide();
    this.#terminal.dispose();
  }

  #opened({ from, to, before }: { from: number; to: number; before: number }): void {
    const goesOn = from === before;
    this.isNew.value = from < before;
    // Programs asked the terminal of before, and it answered.
    this.#answeredUntil = goesOn && before > 0 ? 0 : to;
    this.#isRest = from > 0 && !goesOn;
    this.#shown = from;
    if (!goesOn) {
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
    // Output that begins in the middle of a line, or of what commands the terminal.
    const begin = this.#isRest ? bytes.subarray(0, MAX_REST_BYTES).indexOf(NEWLINE) + 1 : 0;
    this.#isRest = false;
    this.#terminal.write(bytes.subarray(begin), () => {
      if (life !== this.#life) return;
      this.#shown = place;
      this.line.show(place);
    });
  }
}

/** Whether terminals are read aloud; said once for all, and remembered. */
export const readsAloud = signal(remembered() === 'yes');

const sessions = signal<readonly TerminalSession[]>([]);

export const terminalsOf = (instance: string): TerminalSession[] =>
  sessions.value.filter((each) => each.instance === instance);

/** Those of an instance, as they were before the page was loaded; one at least. */
export function openTerminals(instance: string): void {
  const known = new Set(sessions.peek().map(({ shell }) => shell));
  const before = read(instance).filter(({ shell }) => !known.has(shell));
  keep([...sessions.peek(), ...before.map(({ shell, number }) => new TerminalSession(instance, shell, number))]);
  if (!sessions.peek().some((each) => each.instance === instance)) newTerminal(instance);
}

export function newTerminal(instance: string): TerminalSession {
  const taken = new Set(terminalsOf(instance).map(({ number }) => number));
  let number = 1;
  while (taken.has(number)) number += 1;
  const shell = [...crypto.getRandomValues(new Uint8Array(SHELL_BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  const made = new TerminalSession(instance, shell, number);
  keep([...sessions.peek(), made]);
  return made;
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

/** Of this tab alone, and until it is closed: they name shells and open none. */
const nameOf = (instance: string) => `terminals:${instance}`;

function read(instance: string): { shell: string; number: number }[] {
  try {
    const found = JSON.parse(sessionStorage.getItem(nameOf(instance)) ?? '[]') as { shell: string; number: number }[];
    return found.filter(({ shell, number }) => /^[0-9a-f]{32}$/.test(shell) && Number.isInteger(number));
  } catch {
    return [];
  }
}

function write(instance: string): void {
  const own = sessions.peek().filter((each) => each.instance === instance);
  try {
    if (own.length === 0) sessionStorage.removeItem(nameOf(instance));
    else sessionStorage.setItem(nameOf(instance), JSON.stringify(own.map(({ shell, number }) => ({ shell, number }))));
  } catch {
    // A browser that keeps nothing shows a new terminal after a reload.
  }
}

function remembered(): string | null {
  try {
    return localStorage.getItem(READER);
  } catch {
    return null;
  }
}

export function setReadsAloud(does: boolean): void {
  readsAloud.value = does;
  for (const each of sessions.peek()) each.readsAloud = does;
  try {
    localStorage.setItem(READER, does ? 'yes' : 'no');
  } catch {
    // Then for this page alone.
  }
}

/** The next who signs in here sees nothing of it. */
effect(() => {
  if (session.value !== 'out' || sessions.peek().length === 0) return;
  for (const each of sessions.peek()) each.close();
  keep([]);
});

/** A terminal of a dark page must not stay light. */
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const each of sessions.peek()) if (each.element.isConnected) each.paint();
});

/** True for a key that is the program's; false for one that is the browser's or the page's. */
function takesKey(event: KeyboardEvent, terminal: Terminal): boolean {
  const { type, key, ctrlKey, shiftKey, altKey, metaKey } = event;
  if (!ctrlKey || altKey || metaKey) return true;
  const letter = key.toLowerCase();
  // Copied is what is chosen, as elsewhere; without a choice it interrupts.
  if (letter === 'c' && (shiftKey || terminal.hasSelection())) {
    if (type === 'keydown') {
      event.preventDefault();
      if (terminal.hasSelection()) document.execCommand('copy');
      terminal.clearSelection();
    }
    return false;
  }
  if (letter === 'v') return false;
  // Tab is the program's: this leads out.
  if (key === 'F6' && shiftKey) {
    if (type === 'keydown') document.querySelector<HTMLElement>('.terminal-bar [aria-pressed="true"]')?.focus();
    event.preventDefault();
    return false;
  }
  return true;
}

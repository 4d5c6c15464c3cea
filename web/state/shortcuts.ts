import { effect, signal } from '@preact/signals';
import { go } from './location.js';
import { session } from './session.js';
import { takeBack, undoable } from './toasts.js';

/** What lies over the screen. */
export const overlay = signal<'palette' | 'shortcuts' | null>(null);

export type ShortcutName =
  | 'sheet'
  | 'search'
  | 'undo'
  | 'rent'
  | 'home'
  | 'machines'
  | 'instances'
  | 'volumes'
  | 'money'
  | 'keys'
  | 'activity'
  | 'webhooks';

interface Shortcut {
  /** One after the other. */
  keys: readonly string[];
  /** What it does; its words are loaded with what shows them. */
  name: ShortcutName;
  /** The screen it leads to; null for what is no screen. */
  to: string | null;
}

/** What single keys do, where nothing is typed into. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['?'], name: 'sheet', to: null },
  { keys: ['/'], name: 'search', to: null },
  { keys: ['u'], name: 'undo', to: null },
  { keys: ['n'], name: 'rent', to: '/deploy' },
  { keys: ['g', 'h'], name: 'home', to: '/' },
  { keys: ['g', 'm'], name: 'machines', to: '/machines' },
  { keys: ['g', 'i'], name: 'instances', to: '/instances' },
  { keys: ['g', 'v'], name: 'volumes', to: '/volumes' },
  { keys: ['g', 'b'], name: 'money', to: '/money' },
  { keys: ['g', 'k'], name: 'keys', to: '/keys' },
  { keys: ['g', 'a'], name: 'activity', to: '/activity' },
  { keys: ['g', 'w'], name: 'webhooks', to: '/webhooks' },
];

const KEPT_AS = 'single-keys';

/** Whether single keys do something: whoever speaks to the computer may want that they do not (WCAG 2.1.4). */
export const singleKeys = signal(readSetting());

function readSetting(): boolean {
  try {
    return localStorage.getItem(KEPT_AS) !== 'off';
  } catch {
    // A browser may forbid to keep anything.
    return true;
  }
}

effect(() => {
  try {
    if (singleKeys.value) localStorage.removeItem(KEPT_AS);
    else localStorage.setItem(KEPT_AS, 'off');
  } catch {
    // As above: it holds until the page is left.
  }
});

/** The second key has to follow the first within this time. */
const NEXT_KEY_MS = 1_500;

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

/** Listens to the keyboard for as long as the page lives. Called once. */
export function startShortcuts(): void {
  let first = '';
  let firstAt = 0;
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (isDialogOpen()) return;
    if (isPaletteKey(event)) {
      event.preventDefault();
      overlay.value = 'palette';
      return;
    }
    const isAlone = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!singleKeys.value || !isAlone || isTyping(event)) return;
    const typed = first !== '' && event.timeStamp - firstAt < NEXT_KEY_MS ? [first, event.key] : [event.key];
    const found = SHORTCUTS.find(({ keys }) => keys.join(' ') === typed.join(' '));
    first =
      found === undefined && SHORTCUTS.some(({ keys }) => keys.length > 1 && keys[0] === event.key) ? event.key : '';
    firstAt = event.timeStamp;
    if (found === undefined || (found.to !== null && session.value !== 'in')) return;
    event.preventDefault();
    follow(found);
  });
}

function follow({ keys: [key], to }: Shortcut): void {
  if (to !== null) go(to);
  else if (key === '?') overlay.value = 'shortcuts';
  else if (key === 'u') {
    const last = undoable();
    if (last !== undefined) void takeBack(last);
  } else search();
}

/** The screen's own search, where it has one. */
function search(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field === null) overlay.value = 'palette';
  else field.focus();
}

/** Ctrl-K, or Cmd-K on a Mac. In a terminal Ctrl-K belongs to the shell. */
export function isPaletteKey({ key, altKey, shiftKey, ctrlKey, metaKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() !== 'k' || altKey || shiftKey || ctrlKey === metaKey) return false;
  return !(ctrlKey && target instanceof Element && target.closest('.xterm') !== null);
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches('textarea, select, input:not([type="checkbox"], [type="radio"], [type="button"])'))
  );
}

/** Over a dialog nothing is opened. */
const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;

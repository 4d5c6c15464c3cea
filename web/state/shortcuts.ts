import { effect, signal } from '@preact/signals';
import { keepChoice, keptChoice } from './kept-choice.js';
import { go } from './location.js';
import { session } from './session.js';
import { undoable, undoToast } from './toasts.js';

/** The overlay shown above the screen. */
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
  /** The keys to press in sequence. */
  keys: readonly string[];
  /** The shortcut's action, whose text is loaded with the sheet that shows it. */
  name: ShortcutName;
  /** The screen opened by the shortcut, or null if it opens none. */
  to: string | null;
}

/** The actions of single keys, which work outside text fields. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['?'], name: 'sheet', to: null },
  { keys: ['/'], name: 'search', to: null },
  { keys: ['u'], name: 'undo', to: null },
  { keys: ['n'], name: 'rent', to: '/deploy' },
  { keys: ['g', 'h'], name: 'home', to: '/' },
  { keys: ['g', 'm'], name: 'machines', to: '/machines' },
  { keys: ['g', 'i'], name: 'instances', to: '/instances' },
  { keys: ['g', 'v'], name: 'volumes', to: '/volumes' },
  { keys: ['g', 'b'], name: 'money', to: '/billing' },
  { keys: ['g', 'k'], name: 'keys', to: '/keys' },
  { keys: ['g', 'a'], name: 'activity', to: '/activity' },
  { keys: ['g', 'w'], name: 'webhooks', to: '/notifications' },
];

const STORAGE_KEY = 'single-keys';

/** Whether single-key shortcuts are active. Users with speech input may want to disable them (WCAG 2.1.4). */
export const singleKeys = signal(keptChoice(STORAGE_KEY) !== 'off');

effect(() => keepChoice(STORAGE_KEY, singleKeys.value ? null : 'off'));

/** Maximum time between the first and the second key. */
const NEXT_KEY_MS = 1_500;

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

/** Listens to the keyboard for the page's lifetime. Must be called only once. */
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
    if (last !== undefined) void undoToast(last);
  } else search();
}

/** Focuses the screen's own search field, if it has one. */
function search(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field === null) overlay.value = 'palette';
  else field.focus();
}

/** Matches Ctrl-K, or Cmd-K on a Mac. In a terminal, Ctrl-K is left to the shell. */
export function isPaletteKey({ key, altKey, shiftKey, ctrlKey, metaKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() !== 'k' || altKey || shiftKey || ctrlKey === metaKey) return false;
  return !(ctrlKey && target instanceof Element && target.closest('.xterm') !== null);
}

/** Returns whether a key goes to a text field. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches('textarea, select, input:not([type="checkbox"], [type="radio"], [type="button"])'))
  );
}

/** Returns whether a dialog is open, over which nothing else may open. */
export const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;

import { useEffect, useRef, useState } from 'preact/hooks';
import { dismiss, type Toast, toasts, undoToast } from '../state/toasts.js';
import { texts } from '../texts/en/house.js';
import { Icon } from './icon.js';

/**
 * Time for the user to read a toast and reconsider. It pauses while the toast has the pointer or the focus, while the
 * page is hidden, and while a dialog is open.
 */
const STAYS_MS = 8_000;
const UNDO_STAYS_MS = 20_000;

/** Shows confirmations of completed actions and announces them to screen readers. */
export function Toasts() {
  return (
    <section class="toasts" aria-label={texts.messages}>
      <div role="status" class="toast-list">
        {toasts.value.map((toast) => (
          <One key={toast.id} toast={toast} />
        ))}
      </div>
    </section>
  );
}

function One({ toast }: { toast: Toast }) {
  const { id, text, isBad, undo } = toast;
  const [isHeld, hold] = useState(false);
  useEffect(() => {
    if (isHeld) return;
    // A toast can't be pressed under a dialog, so its time doesn't run until the dialog is closed.
    const isObstructed = () => document.hidden || document.querySelector('dialog[open]') !== null;
    const end = () => (isObstructed() ? undefined : dismiss(id));
    const timer = setInterval(end, undo === null ? STAYS_MS : UNDO_STAYS_MS);
    return () => clearInterval(timer);
  }, [isHeld]);
  const item = useRef<HTMLDivElement>(null);
  // If the toast has the focus, it is moved to the screen so that it isn't lost.
  const leave = () => {
    if (item.current?.contains(document.activeElement)) document.querySelector<HTMLElement>('main h1')?.focus();
  };
  return (
    <div
      ref={item}
      class={`toast${isBad ? ' bad-mark' : ''}`}
      onPointerEnter={() => hold(true)}
      onPointerLeave={() => hold(false)}
      onFocusCapture={() => hold(true)}
      onBlurCapture={() => hold(false)}
    >
      <Icon name={isBad ? 'circle-alert' : 'circle-check'} />
      <span>{text}</span>
      {undo !== null && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            leave();
            void undoToast(toast);
          }}
        >
          {texts.undo}
        </button>
      )}
      <button
        type="button"
        class="ghost"
        aria-label={texts.dismiss(text)}
        onClick={() => {
          leave();
          dismiss(id);
        }}
      >
        <Icon name="x" />
      </button>
    </div>
  );
}

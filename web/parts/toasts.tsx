import { useEffect, useRef, useState } from 'preact/hooks';
import { dismiss, type Toast, takeBack, toasts } from '../state/toasts.js';
import { texts } from '../texts/en/house.js';
import { Icon } from './icon.js';

/** Time to read, and to think again. It does not run while the pointer or the focus is there, the page is hidden or a dialog is open. */
const STAYS_MS = 8_000;
const UNDO_STAYS_MS = 20_000;

/** What was just done, said to a screen reader too. */
export function Toasts() {
  return (
    <section class="toasts" aria-label={texts.done}>
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
    // Under a dialog it cannot be pressed: it waits until that is closed.
    const isOutOfReach = () => document.hidden || document.querySelector('dialog[open]') !== null;
    const end = () => (isOutOfReach() ? undefined : dismiss(id));
    const timer = setInterval(end, undo === null ? STAYS_MS : UNDO_STAYS_MS);
    return () => clearInterval(timer);
  }, [isHeld]);
  const item = useRef<HTMLDivElement>(null);
  // A focus that was on it goes to the screen, not nowhere.
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
            void takeBack(toast);
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

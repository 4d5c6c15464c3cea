import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { texts } from '../texts/en/house.js';

interface Props {
  title: string;
  isNarrow?: boolean;
  /** Whether it uses the width of the window, for a table. */
  isWide?: boolean;
  onClose(): void;
  children: ComponentChildren;
}

/**
 * The browser's native dialog. It traps the focus, closes with Escape and returns the focus to the element that opened
 * it.
 */
export function Dialog({ title, isNarrow = false, isWide = false, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>('[data-focus]')?.focus();
    return () => {
      // The action may have removed the element that opened the dialog.
      setTimeout(() => {
        const isPresent = opener instanceof HTMLElement && opener.isConnected;
        (isPresent ? opener : document.querySelector<HTMLElement>('main h1'))?.focus();
      });
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isNarrow ? 'narrow' : isWide ? 'wide' : ''}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id={heading} tabIndex={-1} data-focus>
          {title}
        </h2>
        <button type="button" class="plain" onClick={onClose}>
          {texts.close}
        </button>
      </div>
      {children}
    </dialog>
  );
}

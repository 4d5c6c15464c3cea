import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from './icon.js';

export interface MenuItem {
  name: ComponentChildren;
  /** Explanation of the item, on a second line. */
  note?: string;
  icon: string;
  /** The item's accessible name, if it needs more context than the menu gives. */
  label?: string;
  isDanger?: boolean;
  onChoose(): void;
}

/** Height of an item with one or two lines, and of the menu's padding, in pixels. */
const [ITEM_PX, NOTED_PX, PADDING_PX] = [36, 52, 12];

interface Props {
  label: string;
  items: readonly MenuItem[];
  /** Content of the button instead of "⋯", which then names it. */
  children?: ComponentChildren;
}

/** A button with a row's or a panel's less frequent actions. Items exist only while the menu is open. */
export function Menu({ label, items, children }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => list.current?.hidePopover();
  useEffect(() => {
    if (!isOpen) return;
    list.current?.querySelector('button')?.focus();
    // The menu doesn't move with its button.
    addEventListener('scroll', close, { capture: true, once: true });
    return () => removeEventListener('scroll', close, { capture: true });
  }, [isOpen]);
  const place = () => {
    const { top, bottom, left, right } = button.current!.getBoundingClientRect();
    const height = items.reduce((sum, { note }) => sum + (note === undefined ? ITEM_PX : NOTED_PX), PADDING_PX);
    const isAbove = bottom + height > innerHeight && top > height;
    Object.assign(list.current!.style, {
      // The menu opens towards the middle of the window.
      left: right > innerWidth / 2 ? 'auto' : `${left}px`,
      right: right > innerWidth / 2 ? `${document.documentElement.clientWidth - right}px` : 'auto',
      top: isAbove ? 'auto' : `${bottom + 4}px`,
      bottom: isAbove ? `${innerHeight - top + 4}px` : 'auto',
    });
  };
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Tab') close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...list.current!.querySelectorAll('button')];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    all[(at + step + all.length) % all.length]?.focus();
  };
  return (
    <>
      <button
        type="button"
        ref={button}
        class={children === undefined ? 'ghost menu-button' : 'menu-named'}
        aria-label={children === undefined ? label : undefined}
        title={children === undefined ? label : undefined}
        aria-haspopup="menu"
        popovertarget={id}
      >
        {children ?? <Icon name="ellipsis" />}
      </button>
      <div
        id={id}
        ref={list}
        class="menu"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        popover="auto"
        onBeforeToggle={({ newState }) => {
          if (newState === 'open') place();
        }}
        onToggle={({ newState }) => setIsOpen(newState === 'open')}
        onKeyDown={move}
      >
        {isOpen &&
          items.map(({ name, note, icon, label: itemLabel, isDanger = false, onChoose }, place) => (
            <button
              key={place}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={`ghost ${isDanger ? 'danger' : ''}`}
              aria-label={itemLabel}
              onClick={() => {
                close();
                onChoose();
              }}
            >
              <Icon name={icon} />
              {note === undefined ? (
                name
              ) : (
                <span>
                  {name} <span class="menu-note">{note}</span>
                </span>
              )}
            </button>
          ))}
      </div>
    </>
  );
}

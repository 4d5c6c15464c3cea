import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** A button that shows more elements. Escape hides them, and so does a press or focus elsewhere. */
export function useDisclosure() {
  const isOpen = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen.value) return;
    const close = (event: Event) => {
      const isKey = event instanceof KeyboardEvent;
      if (isKey && event.key !== 'Escape') return;
      if (!isKey && [button, content].some(({ current }) => current?.contains(event.target as Node))) return;
      isOpen.value = false;
      if (isKey) button.current?.focus();
    };
    const kinds = ['keydown', 'pointerdown', 'focusin'] as const;
    for (const kind of kinds) document.addEventListener(kind, close);
    return () => {
      for (const kind of kinds) document.removeEventListener(kind, close);
    };
  }, [isOpen.value]);
  return { isOpen, button, content };
}

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
  title: string;
  /** Describes the content while it is folded. Omit it if everything has its default value. */
  summary?: ComponentChildren;
  /** Opens the section whenever it becomes true. Only the user closes it. */
  isOpen?: boolean;
  children: ComponentChildren;
}

/** A section that most users don't need. It is folded, and its first line shows what is set inside. */
export function Fold({ title, summary, isOpen = false, children }: Props) {
  const section = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    if (isOpen) section.current!.open = true;
  }, [isOpen]);
  return (
    <details ref={section} class="fold">
      <summary>
        {title}
        {summary !== undefined && <span class="quiet small">{summary}</span>}
      </summary>
      {children}
    </details>
  );
}

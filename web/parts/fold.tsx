import type { ComponentChildren } from 'preact';

interface Props {
  title: string;
  /** What is set inside, so that the user needn't open it to know. Omit it if everything has its default. */
  summary?: ComponentChildren;
  /** Whether it starts open. */
  isOpen?: boolean;
  children: ComponentChildren;
}

/** A section that most users don't need. It is folded, and its first line shows what is set inside. */
export const Fold = ({ title, summary, isOpen = false, children }: Props) => (
  <details class="fold" open={isOpen}>
    <summary>
      {title}
      {summary !== undefined && <span class="quiet small">{summary}</span>}
    </summary>
    {children}
  </details>
);

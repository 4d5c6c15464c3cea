import type { ComponentChildren } from 'preact';

/** Figures stand under each other at the right; the heading of a column of buttons is only heard. */
type Column = readonly [name: string, kind?: 'number' | 'unseen'];

interface Props {
  /** What it lists, said to a screen reader. */
  caption?: string;
  columns: readonly Column[];
  /** Rows become cards where it is narrow: their cells say by `data-label` what they are. */
  isCards?: boolean;
  children: ComponentChildren;
}

export function Table({ caption, columns, isCards = false, children }: Props) {
  return (
    <table class={isCards ? 'cards' : ''}>
      {caption !== undefined && <caption class="hidden">{caption}</caption>}
      <thead>
        <tr>
          {columns.map(([name, kind]) => (
            <th key={name} scope="col" class={kind === 'number' ? 'number' : ''}>
              {kind === 'unseen' ? <span class="hidden">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

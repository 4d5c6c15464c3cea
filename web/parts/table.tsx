import type { ComponentChildren } from 'preact';
import { isLong } from './row-groups.js';

/** Figures stand under each other at the right; the heading of a column of buttons is only heard. */
type Column = readonly [name: string, kind?: 'number' | 'unseen'];

interface Props {
  /** What it lists, said to a screen reader. */
  caption?: string;
  columns: readonly Column[];
  /** Rows become cards where it is narrow: their cells say by `data-label` what they are. */
  isCards?: boolean;
  /** How many rows there are, where `children` are the bodies that RowGroups makes of them. */
  rowCount?: number;
  children: ComponentChildren;
}

export function Table({ caption, columns, isCards = false, rowCount, children }: Props) {
  // Its columns are as wide whichever rows are drawn.
  const isSteady = rowCount !== undefined && isLong(rowCount);
  return (
    <table
      class={`${isCards ? 'cards' : ''} ${isSteady ? 'steady' : ''}`}
      aria-rowcount={rowCount === undefined ? undefined : rowCount + 1}
    >
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
      {rowCount === undefined ? <tbody>{children}</tbody> : children}
    </table>
  );
}

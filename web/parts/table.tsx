import type { ComponentChildren } from 'preact';
import { isLong } from './row-groups.js';

/** A column. Figures are right-aligned, and the heading of a column of buttons is only for screen readers. */
type Column = readonly [name: string, kind?: 'number' | 'unseen'];

interface Props {
  /** The list's description for screen readers. */
  caption?: string;
  columns: readonly Column[];
  /** Whether rows become cards on a narrow screen. Each cell's `data-label` then serves as its label. */
  isCards?: boolean;
  /** Total number of rows, if `children` are bodies from RowGroups. */
  rowCount?: number;
  children: ComponentChildren;
}

export function Table({ caption, columns, isCards = false, rowCount, children }: Props) {
  // The column widths don't depend on which rows are drawn.
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

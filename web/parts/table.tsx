import type { ComponentChildren } from 'preact';
import { isLong } from './row-groups.js';

/** Figures are aligned right; the heading of a column of buttons is only for screen readers. */
type Column = readonly [name: string, kind?: 'number' | 'unseen'];

interface Props {
  /** Description of the list, for screen readers. */
  caption?: string;
  columns: readonly Column[];
  /** Whether rows become cards on a narrow screen, with each cell's `data-label` as its label. */
  isCards?: boolean;
  /** Total number of rows, if `children` are bodies from RowGroups. */
  rowCount?: number;
  children: ComponentChildren;
}

export function Table({ caption, columns, isCards = false, rowCount, children }: Props) {
  // Its column widths don't depend on the drawn rows.
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

import type { ComponentChildren } from 'preact';
import { Icon } from './icon.js';

interface Sort {
  /** The order of the rows by this column; null if they are in another one's. */
  order: 'ascending' | 'descending' | null;
  onChoose(): void;
}

/**
 * A column. Figures are right-aligned, and the heading of a column of buttons is only for screen readers. `className`
 * sets the column's width, and `hint` appears on hover. A heading with `sort` is a button that sorts the rows.
 */
type Column = readonly [
  name: string,
  kind?: 'number' | 'unseen' | undefined,
  className?: string,
  hint?: string | undefined,
  sort?: Sort,
];

interface Props {
  /** The list's description for screen readers. */
  caption?: string;
  columns: readonly Column[];
  /** Whether rows become cards on a narrow screen. Each cell's `data-label` then serves as its label. */
  isCards?: boolean;
  class?: string;
  /** The last row, with the sums of the columns. */
  foot?: ComponentChildren;
  /** Whether the children are groups of rows, each a `tbody`. */
  isGrouped?: boolean;
  children: ComponentChildren;
}

export function Table({
  caption,
  columns,
  isCards = false,
  class: className = '',
  foot,
  isGrouped = false,
  children,
}: Props) {
  return (
    <table class={`${isCards ? 'cards ' : ''}${className}`}>
      {caption !== undefined && <caption class="hidden">{caption}</caption>}
      <thead>
        <tr>
          {columns.map(([name, kind, columnClass = '', hint, sort], place) => (
            <th
              key={place}
              scope="col"
              title={hint}
              class={`${kind === 'number' ? 'number ' : ''}${columnClass}`}
              aria-sort={sort?.order ?? undefined}
            >
              {kind === 'unseen' ? (
                <span class="hidden">{name}</span>
              ) : sort === undefined ? (
                name
              ) : (
                <button type="button" class="sort" onClick={sort.onChoose}>
                  {name}
                  {sort.order !== null && <Icon name={sort.order === 'ascending' ? 'arrow-up' : 'arrow-down'} />}
                </button>
              )}
            </th>
          ))}
        </tr>
      </thead>
      {isGrouped ? children : <tbody>{children}</tbody>}
      {foot && <tfoot>{foot}</tfoot>}
    </table>
  );
}

/** Space between two columns. */
export const GAP = '  ';

export interface Layout {
  /** Whether each column is right-aligned. By default, none is. */
  right?: readonly boolean[];
  /** Colours a padded cell. */
  paint?(cell: string, line: number, column: number): string;
}

/** Aligns the cells of lines in columns. A left-aligned cell at the end of a line is not padded. */
export function alignColumns(
  lines: readonly (readonly string[])[],
  { right = [], paint = (cell) => cell }: Layout = {},
): string[] {
  const isPadded = (cells: readonly string[], column: number) => column < cells.length - 1 || right[column] === true;
  const widths: number[] = [];
  for (const cells of lines)
    for (const [column, cell] of cells.entries())
      if (isPadded(cells, column)) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return lines.map((cells, line) =>
    cells
      .map((cell, column) => {
        const width = isPadded(cells, column) ? (widths[column] ?? 0) : 0;
        return paint(right[column] ? cell.padStart(width) : cell.padEnd(width), line, column);
      })
      .join(GAP),
  );
}

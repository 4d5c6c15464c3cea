/** Returns the row of a statement that always returns exactly one. Throws for any other number of rows. */
export function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`a statement returned ${rows.length} rows instead of one`);
  return row;
}

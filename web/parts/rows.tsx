import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { texts } from '../texts/en/house.js';

interface Props<Row> {
  legend: string;
  /** The name for a single row. */
  one: string;
  rows: readonly Row[];
  /** The empty row to add. */
  empty: Row;
  onChange(rows: readonly Row[]): void;
  children(row: Row, change: (changes: Partial<Row>) => void, label: string): ComponentChildren;
}

/** Rows of fields that the user adds and removes one at a time. */
export function Rows<Row extends object>({ legend, one, rows, empty, onChange, children }: Props<Row>) {
  const add = useRef<HTMLButtonElement>(null);
  return (
    <fieldset class="stack-tight">
      <legend>{legend}</legend>
      {rows.map((row, at) => (
        <div class="fields-row" key={at}>
          {children(
            row,
            (changes) => onChange(rows.map((other, place) => (place === at ? { ...row, ...changes } : other))),
            texts.ofRow(one, at + 1),
          )}
          <button
            type="button"
            class="plain"
            aria-label={texts.removeRow(one, at + 1)}
            onClick={() => {
              onChange(rows.filter((_, place) => place !== at));
              add.current?.focus();
            }}
          >
            {texts.remove}
          </button>
        </div>
      ))}
      <div>
        <button type="button" ref={add} class="plain" onClick={() => onChange([...rows, empty])}>
          {texts.addRow(one)}
        </button>
      </div>
    </fieldset>
  );
}

import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Maximum length of a list that is drawn completely, so that the browser's own search finds every row. Only parts of
 * longer lists are drawn.
 */
const MAX_WHOLE = 100;
/**
 * Number of rows that are drawn or omitted as a group, followed by the distance from the viewport within which a group
 * is drawn.
 */
const GROUP = 10;
const NEAR = '800px';

/** Returns whether only part of a list of this length is drawn. */
export const isLong = (rows: number): boolean => rows > MAX_WHOLE;

interface Props<Row> {
  rows: readonly Row[];
  /** Total number of rows, if `rows` contains only those read so far. */
  total?: number;
  /** Approximate row height until a row has been measured. */
  rowPx: number;
  /** Draws a row with its `aria-rowindex`, which starts at 1 and includes the header rows. */
  children(row: Row, index: number): ComponentChildren;
}

/**
 * Draws a table's rows. In a long list, rows are drawn only while they are near the viewport, so that thousands of them
 * cost nothing.
 */
export function RowGroups<Row>({ rows, total = rows.length, rowPx, children }: Props<Row>) {
  const seenPx = useSignal(rowPx);
  if (!isLong(total)) return <tbody>{rows.map((row, at) => children(row, at + 2))}</tbody>;
  return Array.from({ length: Math.ceil(rows.length / GROUP) }, (_, group) => (
    <Group key={group} rows={rows.slice(group * GROUP, (group + 1) * GROUP)} from={group * GROUP} seenPx={seenPx}>
      {children}
    </Group>
  ));
}

interface GroupProps<Row> extends Pick<Props<Row>, 'rows' | 'children'> {
  from: number;
  /** Measured height of a row in the first group. */
  seenPx: Signal<number>;
}

/**
 * Draws a group of rows while it is near the viewport or has the focus. Otherwise, leaves an empty space of the same
 * height.
 */
function Group<Row>({ rows, from, seenPx, children }: GroupProps<Row>) {
  const place = useRef<HTMLTableSectionElement>(null);
  const height = useRef<number | null>(null);
  const [isNear, setIsNear] = useState(from === 0);
  const [hasFocus, setHasFocus] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(
      (entries) => {
        // An observation may still arrive once the rows are gone.
        if (place.current === null) return;
        const { isIntersecting, boundingClientRect } = entries.at(-1)!;
        const drawn = place.current.rows.length;
        if (drawn > 0) {
          height.current = boundingClientRect.height;
          if (from === 0) seenPx.value = boundingClientRect.height / drawn;
        }
        setIsNear(isIntersecting);
      },
      { rootMargin: NEAR },
    );
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  // A focused row may be removed together with its whole table.
  const updateFocus = () => setHasFocus(place.current?.contains(document.activeElement) === true);
  const isDrawn = isNear || hasFocus;
  return (
    <tbody
      ref={place}
      class={isDrawn ? '' : 'away'}
      style={isDrawn ? {} : { height: `${height.current ?? rows.length * seenPx.value}px` }}
      onFocusIn={updateFocus}
      // A dialog opened from this row will return the focus to it.
      onFocusOut={({ relatedTarget }) =>
        (relatedTarget instanceof Element && relatedTarget.closest('dialog') !== null) || updateFocus()
      }
    >
      {isDrawn && rows.map((row, at) => children(row, from + at + 2))}
    </tbody>
  );
}

import type { ComponentChildren } from 'preact';

/** Shows names with their values. Null pairs are omitted. */
export function Facts({ of: pairs }: { of: readonly (readonly [string, ComponentChildren] | null)[] }) {
  return (
    <dl class="facts">
      {pairs.map(
        (pair) =>
          pair !== null && (
            <div key={pair[0]}>
              <dt>{pair[0]}</dt>
              <dd>{pair[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

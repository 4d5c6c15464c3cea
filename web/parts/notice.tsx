import type { ComponentChildren } from 'preact';
import { wordsFor } from '../state/words.js';

/** What went wrong, in plain words, said to a screen reader too. */
export function Failure({ error }: { error: unknown }) {
  return error === null || error === undefined ? null : (
    <p class="notice bad" role="alert">
      {wordsFor(error)}
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

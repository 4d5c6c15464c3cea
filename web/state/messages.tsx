import type { ComponentChildren } from 'preact';
import { explain } from './explain.js';

/** Returns an error's message for users. */
export function messageOf(error: unknown): ComponentChildren {
  const { text, own } = explain(error);
  if (own === null) return text;
  return (
    <>
      {text} <span lang="en">{own}</span>
    </>
  );
}

/** Returns the same message as plain text, for places that can't contain elements. */
export function plainMessageOf(error: unknown): string {
  const { text, own } = explain(error);
  return own === null ? text : `${text} ${own}`;
}

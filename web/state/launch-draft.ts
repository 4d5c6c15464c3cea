import { signal } from '@preact/signals';
import { EMPTY, formOfLink } from './launch-form.js';
import { query, setQuery } from './location.js';

/** Of the dialog that is open: kept while its owner signs in, forgotten when it is closed. */
export const draft = signal(EMPTY);

interface Link {
  text: string;
  leftOut: readonly string[];
}
/** The link that the open dialog was filled in from. */
export const link = signal<Link | null>(null);

/** Fills in the form from the address, once: what its reader changed since is kept while they sign in. */
export function readLink(): void {
  // How and on which machine is the reader's choice: a link binds nobody to a term, and leads nobody to its writer's host.
  setQuery({ mode: null, deploy: null }, { replace: true });
  const { form, leftOut } = formOfLink(query.peek());
  const text = JSON.stringify(form);
  if (link.peek()?.text === text) return;
  link.value = { text, leftOut: [...new Set(leftOut)] };
  draft.value = form;
}

/** The dialog that was open is closed. */
export function forgetDraft(): void {
  link.value = null;
  draft.value = EMPTY;
}

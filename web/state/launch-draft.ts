import { signal } from '@preact/signals';
import { LAUNCH, MACHINE } from './deploy-link.js';
import { EMPTY, formOfLink, type LaunchForm } from './launch-form.js';
import { go, path, query, setQuery, withParameters } from './location.js';

/** The launch form on the rent page. It is kept during sign-in and discarded when the user leaves the page. */
export const draft = signal(EMPTY);

interface Link {
  text: string;
  leftOut: readonly string[];
}
/** The link that filled in the form. */
export const link = signal<Link | null>(null);

const READER_PARAMETERS = ['mode', MACHINE, 'deploy', 'stop-at', 'destroy-at', 'idle', 'limit', 'labels'];

/** Fills in the form from the URL, but only once. Later changes are kept during sign-in. */
export function readLink(): void {
  const { form, leftOut } = formOfLink(query.peek());
  const text = JSON.stringify(form);
  if (link.peek()?.text === text) return;
  // The mode, machine and end time are the user's own choice. Otherwise, a link could commit users to a term or steer
  // them to its author's host.
  setQuery(Object.fromEntries(READER_PARAMETERS.map((name) => [name, null])), { replace: true });
  link.value = { text, leftOut: [...new Set(leftOut)] };
  draft.value = form;
}

/** Reads the few parts of a launch in the form's own URL, unless something is already filled in. */
export function readAddress(): void {
  if (draft.peek() !== EMPTY) return;
  const parameters = new URLSearchParams([...query.peek()].filter(([name]) => LAUNCH.some((known) => known === name)));
  if (parameters.size > 0) draft.value = formOfLink(parameters).form;
}

/** Discards the form when the user leaves the page. */
export function forgetDraft(): void {
  link.value = null;
  draft.value = EMPTY;
}

/** Writes to the URL the parts of the launch that it may contain. */
export function writeAddress({ name, ports }: LaunchForm): void {
  const next = new URLSearchParams(query.peek());
  for (const known of LAUNCH) next.delete(known);
  if (name !== '') next.set('name', name);
  for (const { port, name: called } of ports)
    if (port !== '') next.append('port', called === '' ? port : `${port}:${called}`);
  go(withParameters(path.peek(), next), { replace: true });
}

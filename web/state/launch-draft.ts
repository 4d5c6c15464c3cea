import { signal } from '@preact/signals';
import { LAUNCH, MACHINE } from './deploy-link.js';
import { EMPTY, formOfLink, type LaunchForm } from './launch-form.js';
import { go, path, query, setQuery, withParameters } from './location.js';

/** Of the page that rents: kept while its owner signs in, forgotten when the page is left. */
export const draft = signal(EMPTY);

interface Link {
  text: string;
  leftOut: readonly string[];
}
/** The link that the form was filled in from. */
export const link = signal<Link | null>(null);

const READERS = ['mode', MACHINE, 'deploy', 'stop-at', 'destroy-at', 'idle', 'limit'];

/** Fills in the form from the address, once: what its reader changed since is kept while they sign in. */
export function readLink(): void {
  const { form, leftOut } = formOfLink(query.peek());
  const text = JSON.stringify(form);
  if (link.peek()?.text === text) return;
  // How, on which machine and until when is the reader's choice: a link binds nobody to a term, and leads nobody to its writer's host.
  setQuery(Object.fromEntries(READERS.map((name) => [name, null])), { replace: true });
  link.value = { text, leftOut: [...new Set(leftOut)] };
  draft.value = form;
}

/** Takes what of a launch stands in an address of the form itself, which is little, unless something is filled in already. */
export function readAddress(): void {
  if (draft.peek() !== EMPTY) return;
  const said = new URLSearchParams([...query.peek()].filter(([name]) => LAUNCH.some((known) => known === name)));
  if (said.size > 0) draft.value = formOfLink(said).form;
}

/** The page is left. */
export function forgetDraft(): void {
  link.value = null;
  draft.value = EMPTY;
}

/** Writes into the address what of the launch may stand there. */
export function writeAddress({ name, ports }: LaunchForm): void {
  const next = new URLSearchParams(query.peek());
  for (const known of LAUNCH) next.delete(known);
  if (name !== '') next.set('name', name);
  for (const { port, name: called } of ports)
    if (port !== '') next.append('port', called === '' ? port : `${port}:${called}`);
  go(withParameters(path.peek(), next), { replace: true });
}

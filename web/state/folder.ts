import { type ReadonlySignal, signal } from '@preact/signals';
import { type Folder, listFolder } from '../graph/files.js';
import { Refusal } from '../graph/send.js';
import { sessionIsOver } from './session.js';

/** The view of a folder in a container. */
export interface FolderView {
  /** The folder's path in percent-encoded bytes. */
  path: ReadonlySignal<string>;
  /** The last response, or null before the first one for this path. */
  folder: ReadonlySignal<Folder | null>;
  error: ReadonlySignal<unknown>;
  /** Shows the first of these folders that exists. */
  go(paths: readonly string[]): void;
  again(): void;
  end(): void;
}

export function openFolder(instance: string): FolderView {
  const path = signal('/');
  const folder = signal<Folder | null>(null);
  const error = signal<unknown>(null);
  let latest = 0;

  const read = async (paths: readonly string[]): Promise<void> => {
    const [first = '/', ...others] = paths;
    latest += 1;
    const own = latest;
    if (path.value !== first) {
      path.value = first;
      folder.value = null;
    }
    error.value = null;
    try {
      const answer = await listFolder(instance, first);
      if (own === latest) folder.value = answer;
    } catch (fault) {
      if (own !== latest) return;
      if (fault instanceof Refusal && fault.code === 'not_found' && others.length > 0) return read(others);
      error.value = fault;
      if (fault instanceof Refusal && fault.code === 'unauthorized') sessionIsOver();
    }
  };
  let isBegun = false;
  return {
    path,
    folder,
    error,
    go: (paths) => {
      isBegun = true;
      void read(paths);
    },
    again: () => {
      if (isBegun) void read([path.value]);
    },
    end: () => {
      latest += 1;
    },
  };
}

import { signal } from '@preact/signals';

/** Counts this page's changes of saved templates. */
export const savedChanges = signal(0);

import { signal } from '@preact/signals';

/** Counts the changes that this page has made to saved templates. */
export const savedChanges = signal(0);

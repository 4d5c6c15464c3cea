import { signal } from '@preact/signals';

/** Counts what the page changed of what the account saved. */
export const savedChanges = signal(0);

import { signal } from '@preact/signals';
import { plainWordsFor } from './words.js';

export interface Toast {
  id: number;
  text: string;
  isBad: boolean;
  undo: Undo | null;
}

/** How what was done is taken back, where that costs nothing. */
export interface Undo {
  run(): Promise<unknown>;
  /** What is said then. */
  done: string;
}

/** Newest last; 4 at most. */
export const toasts = signal<readonly Toast[]>([]);

const MOST = 4;
let count = 0;

/** Says what was done; with `undo`, with a way back. */
export function say(text: string, { undo = null, isBad = false }: { undo?: Undo | null; isBad?: boolean } = {}): void {
  count += 1;
  toasts.value = [...toasts.value, { id: count, text, isBad, undo }].slice(-MOST);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Takes back what a toast tells of, once however often it is asked for. */
export async function takeBack({ id, undo }: Toast): Promise<void> {
  if (undo === null || !toasts.value.some((toast) => toast.id === id)) return;
  dismiss(id);
  try {
    await undo.run();
    say(undo.done);
  } catch (error) {
    say(plainWordsFor(error), { isBad: true });
  }
}

/** What was done last and can be taken back. */
export const undoable = (): Toast | undefined => toasts.value.findLast(({ undo }) => undo !== null);

import { signal } from '@preact/signals';
import { plainMessageOf } from './messages.js';

export interface Toast {
  id: number;
  text: string;
  isBad: boolean;
  undo: Undo | null;
}

/** How to undo an action, if that costs nothing. */
export interface Undo {
  run(): Promise<unknown>;
  /** Text shown once the action has been undone. */
  done: string;
}

/** The toasts being shown. There are at most 4, and the newest is last. */
export const toasts = signal<readonly Toast[]>([]);

const MAX_TOASTS = 4;
let count = 0;

/** Shows a confirmation. With `undo`, it also offers to undo the action. */
export function say(text: string, { undo = null, isBad = false }: { undo?: Undo | null; isBad?: boolean } = {}): void {
  count += 1;
  toasts.value = [...toasts.value, { id: count, text, isBad, undo }].slice(-MAX_TOASTS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Undoes a toast's action, but only once. */
export async function undoToast({ id, undo }: Toast): Promise<void> {
  if (undo === null || !toasts.value.some((toast) => toast.id === id)) return;
  dismiss(id);
  try {
    await undo.run();
    say(undo.done);
  } catch (error) {
    say(plainMessageOf(error), { isBad: true });
  }
}

/** Returns the last action that can be undone. */
export const undoable = (): Toast | undefined => toasts.value.findLast(({ undo }) => undo !== null);

import { signal } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { Act } from '../graph/documents.js';
import type { Instance } from './account.js';

export type Action = VariablesOf<typeof Act>['action'];

interface PendingAction {
  instance: Instance;
  action: Action;
  /** Why it can't be started, if known. */
  cannotStart?: string | null;
}

/** The requested action: its dialog first shows the cost. It belongs to no row, because rows may no longer be drawn. */
export const pendingAction = signal<PendingAction | null>(null);

import { signal } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { Act } from '../graph/documents.js';
import type { Instance } from './account.js';

export type Action = VariablesOf<typeof Act>['action'];

interface PendingAction {
  instance: Instance;
  action: Action;
  /** Why the instance can't be started, if known. */
  cannotStart?: string | null;
}

/**
 * The requested action. Its dialog shows the cost first. It is kept outside the table rows, because a row may be
 * removed while the dialog is open.
 */
export const pendingAction = signal<PendingAction | null>(null);

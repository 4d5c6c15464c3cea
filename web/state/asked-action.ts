import { signal } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { Act } from '../graph/documents.js';
import type { Instance } from './account.js';

export type Action = VariablesOf<typeof Act>['action'];

interface Asked {
  instance: Instance;
  action: Action;
  /** Why it cannot be started, where that is known. */
  cannotStart?: string | null;
}

/** What was asked for: its dialog says first what it costs. It is of no row, which may be drawn no longer. */
export const askedAction = signal<Asked | null>(null);

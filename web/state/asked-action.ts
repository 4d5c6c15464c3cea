import { signal } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { Act } from '../graph/documents.js';
import type { Instance } from './account.js';

export type Action = VariablesOf<typeof Act>['action'];

/** What was asked for from outside an instance's own row: its dialog says first what it costs. */
export const askedAction = signal<{ instance: Instance; action: Action } | null>(null);

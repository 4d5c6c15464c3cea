import { operationOf } from '../request-state.js';
import type { PluginContext } from './plugin.js';
import type { Check } from './use-checks.js';

/**
 * Evaluates all of a query's fields for the same second, so that the balance, spend and statement in one response add
 * up. Must run after `recordOperation`. Public queries read no account.
 */
export const atOneSecond: Check = ({ contextValue }) => {
  const context = contextValue as PluginContext;
  const { kind, cost } = operationOf(context.req);
  if (kind !== 'query' || cost === 0) return null;
  const { clock } = context.deps;
  const second = clock.now();
  context.deps = { ...context.deps, clock: { now: () => second, nowMs: () => clock.nowMs() } };
  return null;
};

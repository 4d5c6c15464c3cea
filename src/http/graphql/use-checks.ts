import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Plugin, StartingOperation } from './plugin.js';

export interface CheckedArgs extends ExecutionArgs {
  /** Variables coerced by their definitions, once checked. */
  coerced?: Record<string, unknown>;
}

/** Checks an operation that is about to run: null lets it run, a result ends it. */
export type Check = (args: CheckedArgs) => ExecutionResult | null | Promise<ExecutionResult | null>;

/** Runs the checks of every operation before it runs through Yoga; `direct.ts` runs them without it. */
export function useChecks(checks: readonly Check[]): Plugin {
  const pass = async ({ args, setResultAndStopExecution }: StartingOperation) => {
    const refused = await firstRefusal(checks, args);
    if (refused !== null) setResultAndStopExecution(refused);
  };
  return { onExecute: pass, onSubscribe: pass };
}

/** Runs the checks in order and stops at the first refusal. */
export async function firstRefusal(checks: readonly Check[], args: CheckedArgs): Promise<ExecutionResult | null> {
  for (const check of checks) {
    const refused = check(args);
    // Most checks complete synchronously, and awaiting takes a turn of the event loop.
    const result = refused instanceof Promise ? await refused : refused;
    if (result !== null) return result;
  }
  return null;
}

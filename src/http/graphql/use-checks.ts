import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Plugin, StartingOperation } from './plugin.js';

export interface CheckedArgs extends ExecutionArgs {
  /** The variables as their definitions coerce them, once that is checked. */
  coerced?: Record<string, unknown>;
}

/** Looks at an operation that is about to run: null lets it run, a result is its end. */
export type Check = (args: CheckedArgs) => ExecutionResult | null | Promise<ExecutionResult | null>;

/** What every operation passes before it runs, by Yoga here and without it in `direct.ts`. */
export function useChecks(checks: readonly Check[]): Plugin {
  const pass = async ({ args, setResultAndStopExecution }: StartingOperation) => {
    const refused = await firstRefusal(checks, args);
    if (refused !== null) setResultAndStopExecution(refused);
  };
  return { onExecute: pass, onSubscribe: pass };
}

/** In order; what comes after a refusal is not asked. */
export async function firstRefusal(checks: readonly Check[], args: CheckedArgs): Promise<ExecutionResult | null> {
  for (const check of checks) {
    const refused = check(args);
    // Most answer at once, and waiting takes a turn of the event loop's queue.
    const result = refused instanceof Promise ? await refused : refused;
    if (result !== null) return result;
  }
  return null;
}

import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Plugin, StartingOperation } from './plugin.js';

export interface CheckedArgs extends ExecutionArgs {
  /** The variables as coerced by their definitions. Set once they have been checked. */
  coerced?: Record<string, unknown>;
}

/** Checks an operation that is about to run. Returns null to let it run, or a result that replaces its execution. */
export type Check = (args: CheckedArgs) => ExecutionResult | null | Promise<ExecutionResult | null>;

/**
 * Runs the checks before every operation that runs in Yoga. For operations that bypass Yoga, they are run by
 * `direct.ts`.
 */
export function useChecks(checks: readonly Check[]): Plugin {
  const pass = async ({ args, setResultAndStopExecution }: StartingOperation) => {
    const refused = await firstRefusal(checks, args);
    if (refused !== null) setResultAndStopExecution(refused);
  };
  return { onExecute: pass, onSubscribe: pass };
}

/** Runs the checks sequentially and stops at the first rejection. */
export async function firstRefusal(checks: readonly Check[], args: CheckedArgs): Promise<ExecutionResult | null> {
  for (const check of checks) {
    const refused = check(args);
    // Most checks complete synchronously, and awaiting them would cost a turn of the event loop.
    const result = refused instanceof Promise ? await refused : refused;
    if (result !== null) return result;
  }
  return null;
}

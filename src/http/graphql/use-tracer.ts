import type { ExecutionArgs } from 'graphql';
import { operationOf } from '../request-state.js';
import type { Tracer } from '../tracer.js';
import type { Plugin, PluginContext } from './plugin.js';

/** Creates a span for each operation. */
export function useTracer(tracer: Tracer): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      setExecuteFn((executionArgs) => traced(tracer, args, () => executeFn(executionArgs)));
    },
    onSubscribe({ args, subscribeFn, setSubscribeFn }) {
      setSubscribeFn((executionArgs) => traced(tracer, args, () => subscribeFn(executionArgs)));
    },
  };
}

/** Runs an operation within its span, which is named after the operation if the name may be logged. */
export function traced<Result>(tracer: Tracer, { contextValue }: ExecutionArgs, run: () => Result): Result {
  const { name, kind } = operationOf((contextValue as PluginContext).req);
  return tracer.operation(name, kind, run);
}

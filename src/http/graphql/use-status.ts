import type { ExecutionResult } from 'graphql';
import { statusOf, subscriptionStatusOf } from './graphql-errors.js';
import type { Plugin } from './plugin.js';

/** Sets the HTTP status for a result in which no field was resolved, if all its errors have the same reason. */
export function useStatus(): Plugin {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult }) {
        if (!(Symbol.asyncIterator in result)) setResult(withStatus(result));
      },
    }),
    onSubscribe: () => ({
      onSubscribeResult({ result, setResult }) {
        if (!(Symbol.asyncIterator in result)) setResult(withStatus(result, subscriptionStatusOf));
      },
    }),
  };
}

export function withStatus(result: ExecutionResult, statusOfResult = statusOf): ExecutionResult {
  const http = statusOfResult(result);
  return http === null ? result : { ...result, extensions: { ...result.extensions, http } };
}

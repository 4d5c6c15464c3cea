import { type HttpExtension, statusOf, subscriptionStatusOf } from './graphql-errors.js';
import type { Plugin } from './plugin.js';

/** Sets the HTTP status of a result without any answered field, if all its errors have the same reason. */
export function useStatus(): Plugin {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult }) {
        if (Symbol.asyncIterator in result) return;
        const http = statusOf(result);
        if (http !== null) setResult(withStatus(result, http));
      },
    }),
    onSubscribe: () => ({
      onSubscribeResult({ result, setResult }) {
        if (Symbol.asyncIterator in result) return;
        const http = subscriptionStatusOf(result);
        if (http !== null) setResult(withStatus(result, http));
      },
    }),
  };
}

function withStatus<Result extends { extensions?: object }>(result: Result, http: HttpExtension): Result {
  return { ...result, extensions: { ...result.extensions, http } };
}

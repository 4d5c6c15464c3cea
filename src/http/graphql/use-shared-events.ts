import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
} from 'graphql';
import { operationOf } from '../request-state.js';
import type { Plugin, PluginContext } from './plugin.js';
import { sourceOf } from './source-of.js';

/** If a result has its own `stringify` method, Yoga uses it to serialize the result. */
type Written = ExecutionResult & { stringify?: (result: ExecutionResult) => string };

/**
 * Creates and serializes a single response for all equal subscriptions that receive the same event object. It applies
 * only to public fields: no public type exposes an account's data, so the response doesn't depend on the key.
 */
export function useSharedEvents(): Plugin {
  /**
   * Results by event and then by selected fields. An event has as many results as there are different subscriptions.
   */
  const results = new WeakMap<object, Map<string, Promise<Written>>>();
  const resultOf = (event: object, operationKey: string, args: ExecutionArgs): Promise<Written> => {
    const ofEvent = results.get(event) ?? new Map<string, Promise<Written>>();
    results.set(event, ofEvent);
    const known = ofEvent.get(operationKey) ?? run(event, args);
    ofEvent.set(operationKey, known);
    return known;
  };
  const subscribe = async (args: ExecutionArgs) => {
    const { document, operationName, variableValues } = args;
    const events = await createSourceEventStream(args);
    if (!(Symbol.asyncIterator in events)) return events;
    const operationKey = JSON.stringify([sourceOf(document).body, operationName, variableValues]);
    return mapped(events as AsyncIterableIterator<object>, (event) => resultOf(event, operationKey, args), args);
  };
  return {
    onSubscribe({ args, setSubscribeFn }) {
      const { req } = args.contextValue as PluginContext;
      if (operationOf(req).cost === 0) setSubscribeFn(subscribe);
    },
  };
}

async function run(event: object, args: ExecutionArgs): Promise<Written> {
  const result: Written = await execute({ ...args, rootValue: event });
  if (result.errors !== undefined) return result;
  let text: string | undefined;
  return Object.assign(result, {
    stringify: (plain: ExecutionResult) => {
      text ??= JSON.stringify(plain);
      return text;
    },
  });
}

/**
 * Maps events as GraphQL does, but ends immediately on `return`, whereas a generator would first wait for its pending
 * event.
 */
function mapped<Event, Result>(
  events: AsyncIterableIterator<Event>,
  make: (event: Event) => Promise<Result>,
  { document, operationName }: ExecutionArgs,
): AsyncIterableIterator<Result> {
  return {
    next: async () => {
      try {
        const { value, done } = await events.next();
        return done ? { value, done } : { value: await make(value), done: false };
      } catch (error) {
        const { message } = error as Error;
        throw new GraphQLError(message, {
          originalError: error as Error,
          nodes: getOperationAST(document, operationName),
        });
      }
    },
    return: async () => {
      await events.return?.();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

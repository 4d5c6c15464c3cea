import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from './plugin.js';

/** Name suggestions are at the end of GraphQL's messages. */
const SUGGESTION = / ?Did you mean .*$/s;

/** Hides the schema from introspection and from suggestions in messages, unless allowed. */
export function useIntrospection(allowed: boolean): Plugin {
  return allowed ? {} : { onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule) };
}

/** Removes suggestions from any result, if introspection is off. */
export function withoutSuggestions<R extends { errors?: readonly Error[] }>(result: R): R {
  for (const error of result.errors ?? []) error.message = error.message.replace(SUGGESTION, '');
  return result;
}

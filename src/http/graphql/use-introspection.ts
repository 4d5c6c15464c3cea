import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from './plugin.js';

/** Matches the name suggestions at the end of GraphQL's messages. */
const SUGGESTION = / ?Did you mean .*$/s;

/** Unless introspection is allowed, disables it and removes suggestions from messages. */
export function useIntrospection(allowed: boolean): Plugin {
  return allowed ? {} : { onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule) };
}

/** Removes the suggestions from a result if introspection is disabled. */
export function withoutSuggestions<R extends { errors?: readonly Error[] }>(result: R): R {
  for (const error of result.errors ?? []) error.message = error.message.replace(SUGGESTION, '');
  return result;
}

import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from './plugin.js';

/** Suggestions of names stand at the end of GraphQL's messages. */
const SUGGESTION = / ?Did you mean .*$/s;

/** Switched off, the schema is described neither by introspection nor by suggestions in messages. */
export function useIntrospection(allowed: boolean): Plugin {
  return allowed ? {} : { onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule) };
}

/** For results of every way, where introspection is switched off. */
export function withoutSuggestions<R extends { errors?: readonly Error[] }>(result: R): R {
  for (const error of result.errors ?? []) error.message = error.message.replace(SUGGESTION, '');
  return result;
}

import { type GraphQLError, NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from './plugin.js';

/** Suggestions of names stand at the end of GraphQL's messages. */
const SUGGESTION = / ?Did you mean .*$/s;

/** Switched off, the schema is described neither by introspection nor by suggestions in messages. */
export function useIntrospection(allowed: boolean): Plugin {
  if (allowed) return {};
  return {
    onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule),
    onExecutionResult({ result }) {
      if (result === undefined || !('errors' in result)) return;
      for (const error of (result.errors ?? []) as GraphQLError[]) {
        error.message = error.message.replace(SUGGESTION, '');
      }
    },
  };
}

import { type GraphQLError, NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Where GraphQL's messages begin to guess; the guess is always at their end. */
const SUGGESTION = / ?Did you mean .*$/s;

/** Switched off, the schema is not described: neither when it is asked for, nor by guesses in messages. */
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

import type { GraphQLSchema } from 'graphql';
import type { Traces } from './traces.js';

/**
 * Creates a span for each root field, because each one runs one of the domain's use cases. Call it before compiling any
 * part of the schema.
 */
export function traceUseCases(schema: GraphQLSchema, traces: Traces): void {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const { resolve } = field;
      if (resolve === undefined) continue;
      field.resolve = (...parameters) => traces.useCase(field.name, () => resolve(...parameters));
    }
  }
}

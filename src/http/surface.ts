import type { GraphQLSchema } from 'graphql';
import { type CompiledRoute, compileRoutes } from '../rest/adapter.js';
import { buildSchema } from '../schema/index.js';
import type { Check } from './graphql/use-checks.js';
import { checkAnswer } from './graphql/use-limits.js';

/** The API of a gateway, which is the same for every database and account. */
export interface Surface {
  schema: GraphQLSchema;
  /** REST, compiled against the schema. */
  routes: readonly CompiledRoute[];
  /** Bounds the answers of GraphQL. */
  checkAnswer: Check;
}

let untraced: Surface | undefined;

/** Returns the API of gateways without tracing. A process creates it only once, for any number of gateways. */
export function untracedSurface(): Surface {
  untraced ??= createSurface();
  return untraced;
}

/** Creates the API; `wrap` may wrap the schema's resolvers before anything is compiled. */
export function createSurface(wrap?: (schema: GraphQLSchema) => void): Surface {
  const schema = buildSchema();
  wrap?.(schema);
  // `checkAnswer` wraps the resolvers of lists, so routes, whose documents bound their answers, are compiled first.
  const routes = compileRoutes(schema);
  return { schema, routes, checkAnswer: checkAnswer(schema) };
}

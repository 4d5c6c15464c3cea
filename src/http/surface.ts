import type { GraphQLSchema } from 'graphql';
import { type CompiledRoute, compileRoutes } from '../rest/adapter.js';
import { buildSchema } from '../schema/index.js';
import { limitAnswers } from './graphql/use-limits.js';

/** A gateway's API, which is the same for every database and account. */
export interface Surface {
  schema: GraphQLSchema;
  /** The REST routes, compiled against the schema. */
  routes: readonly CompiledRoute[];
}

let untraced: Surface | undefined;

/** Returns the API for gateways without tracing. A process creates it only once for all its gateways. */
export function untracedSurface(): Surface {
  untraced ??= createSurface();
  return untraced;
}

/** Creates the API. `wrap` may wrap the schema's resolvers before anything is compiled. */
export function createSurface(wrap?: (schema: GraphQLSchema) => void): Surface {
  const schema = buildSchema();
  wrap?.(schema);
  // The routes are compiled first. Afterwards, `limitAnswers` wraps the list resolvers, but the routes' documents
  // already limit their responses.
  const routes = compileRoutes(schema);
  limitAnswers(schema);
  return { schema, routes };
}

import type { initGraphQLTada } from 'gql.tada';
import type { introspection } from '../generated/schema.js';

type Graphql = ReturnType<
  typeof initGraphQLTada<{
    introspection: introspection;
    scalars: { DateTime: string; Date: string; USD: number; ID: string };
    disableMasking: true;
  }>
>;

/**
 * A document, checked against schema.graphql when it is compiled. What it becomes is its text and that of the fragments it
 * names: the page needs no parser.
 */
export const graphql = ((text: string, fragments: readonly string[] = []) =>
  [...new Set([text, ...fragments])].join('\n')) as unknown as Graphql;

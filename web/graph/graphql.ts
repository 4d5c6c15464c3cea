import type { initGraphQLTada } from 'gql.tada';
import type { introspection } from '../generated/schema.js';

type Graphql = ReturnType<
  typeof initGraphQLTada<{
    introspection: introspection;
    scalars: {
      DateTime: string;
      Date: string;
      USD: number;
      ID: string;
      Labels: Readonly<Record<string, string>>;
      Json: unknown;
    };
    disableMasking: true;
  }>
>;

/**
 * Types a document, which is checked against schema.graphql at compile time. Returns its text together with the
 * fragments that it names, so that the page needs no parser.
 */
export const graphql = ((text: string, fragments: readonly string[] = []) =>
  [...new Set([text, ...fragments])].join('\n')) as unknown as Graphql;

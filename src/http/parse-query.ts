import { type ParsedUrlQuery, parse } from 'node:querystring';

/**
 * Parses every parameter in a query string. By default, Node stops at 1,000 and silently drops the rest. Here the only
 * limit is the maximum size of the request headers.
 */
export function parseQuery(text: string | undefined): ParsedUrlQuery {
  return parse(text ?? '', '&', '=', { maxKeys: 0 });
}

import { type ParsedUrlQuery, parse } from 'node:querystring';

/**
 * Parses all parameters of a query string. Node's own limit of 1,000 drops the rest silently; the size of the request's
 * head bounds them here.
 */
export function parseQuery(text: string | undefined): ParsedUrlQuery {
  return parse(text ?? '', '&', '=', { maxKeys: 0 });
}

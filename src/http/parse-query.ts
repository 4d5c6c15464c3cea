import { type ParsedUrlQuery, parse } from 'node:querystring';

/**
 * Parses all parameters in a query string. Node's own limit of 1,000 would silently drop the rest, whereas here the
 * maximum size of the request's head limits their number.
 */
export function parseQuery(text: string | undefined): ParsedUrlQuery {
  return parse(text ?? '', '&', '=', { maxKeys: 0 });
}

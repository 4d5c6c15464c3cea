import { z } from 'zod';
import { DomainError } from '../domain/kernel/errors.js';
import { check, type Field } from '../domain/kernel/field.js';
import { commonFields } from '../domain/kernel/fields.js';
import type { GatewayContext } from './context.js';

interface PageArguments {
  first?: number | null;
  last?: number | null;
  after?: string | null;
  before?: string | null;
}

/** Number of entries per page if neither `first` nor `last` is given. */
export const DEFAULT_PAGE = 25;
export const MAX_PAGE = 100;

/**
 * Returns a function for a connection's `maxSize` that computes the page limit. It throws invalid_request for a size
 * out of bounds, and for another connection's cursor before it reaches the database.
 */
export function pageLimit(cursorForm: (context: GatewayContext) => Pick<RegExp, 'test'>) {
  return (args: PageArguments, context: GatewayContext): number => {
    for (const name of ['first', 'last'] as const) {
      if (args[name] != null) check(name, commonFields.page, args[name]);
    }
    for (const name of ['after', 'before'] as const) {
      const cursor = args[name];
      if (cursor == null || cursorForm(context).test(Buffer.from(cursor, 'base64').toString())) continue;
      throw new DomainError('invalid_request', `${name} must be a cursor from this list`, { field: name });
    }
    return MAX_PAGE;
  };
}

const CURSOR = z.string().min(1);
const cursor = (description: string) => argument({ schema: CURSOR, must: 'a cursor of this list', description });

/** Does the same as the builder's `fromField`, which can't be imported because the builder depends on this file. */
function argument<T>(field: Field<T>) {
  return { description: field.description, extensions: { field } };
}

/** Descriptions of the Relay plugin's types and arguments. REST and OpenAPI also read the arguments' bounds. */
export const PAGE_DESCRIPTIONS = {
  pageInfoTypeOptions: { description: 'Position of a page in its list.' },
  hasNextPageFieldOptions: { description: 'Whether more entries follow.' },
  hasPreviousPageFieldOptions: { description: 'Whether there are earlier entries.' },
  startCursorFieldOptions: { description: 'Cursor of the first entry; null on an empty page.' },
  endCursorFieldOptions: { description: 'Cursor of the last entry; null on an empty page.' },
  edgesFieldOptions: { description: 'The entries, each with its cursor.' },
  pageInfoFieldOptions: { description: 'Position of this page in its list.' },
  cursorFieldOptions: { description: 'Position of this entry: pass it as after or before to continue from here.' },
  nodeFieldOptions: { description: 'The entry.' },
  firstArgOptions: argument({
    ...commonFields.page,
    description: `Number of entries from the start, 1 to ${MAX_PAGE}; by default ${DEFAULT_PAGE}.`,
  }),
  lastArgOptions: argument({ ...commonFields.page, description: `Number of entries from the end, 1 to ${MAX_PAGE}.` }),
  afterArgOptions: cursor('The page starts after this cursor.'),
  beforeArgOptions: cursor('The page ends before this cursor.'),
};

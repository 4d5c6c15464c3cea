import { z } from 'zod';
import { check, type Field, fields } from '../domain/fields.js';
import { DomainError } from '../domain/rules/errors.js';
import type { GatewayContext } from './context.js';

interface PageArguments {
  first?: number | null;
  last?: number | null;
  after?: string | null;
  before?: string | null;
}

/** Entries on a page when neither first nor last is given. */
export const DEFAULT_PAGE = 25;
export const MAX_PAGE = 100;

/**
 * The page limit of a connection, as its `maxSize`: refuses a size out of bounds, and a cursor that this
 * connection did not make, before it reaches the database.
 */
export function pageLimit(cursorForm: (context: GatewayContext) => Pick<RegExp, 'test'>) {
  return (args: PageArguments, context: GatewayContext): number => {
    for (const name of ['first', 'last'] as const) {
      if (args[name] != null) check(name, fields.page, args[name]);
    }
    for (const name of ['after', 'before'] as const) {
      const cursor = args[name];
      if (cursor == null || cursorForm(context).test(Buffer.from(cursor, 'base64').toString())) continue;
      throw new DomainError('invalid_request', `${name} must be a cursor of this list`, { field: name });
    }
    return MAX_PAGE;
  };
}

const CURSOR = z.string().min(1);
const cursor = (description: string) => argument({ schema: CURSOR, must: 'a cursor of this list', description });

/** As `fromField` of the builder, which needs these. */
function argument<T>(field: Field<T>) {
  return { description: field.description, extensions: { field } };
}

/** Descriptions of the relay plugin's own types and arguments; REST and OpenAPI read the bounds of the arguments, too. */
export const PAGE_DESCRIPTIONS = {
  pageInfoTypeOptions: { description: 'The position of a page in its list.' },
  hasNextPageFieldOptions: { description: 'True when entries follow.' },
  hasPreviousPageFieldOptions: { description: 'True when entries precede.' },
  startCursorFieldOptions: { description: 'Cursor of the first entry; null on an empty page.' },
  endCursorFieldOptions: { description: 'Cursor of the last entry; null on an empty page.' },
  edgesFieldOptions: { description: 'The entries, each with its cursor.' },
  pageInfoFieldOptions: { description: 'The position of this page in its list.' },
  cursorFieldOptions: { description: 'Marks this entry: pass it as after or before to continue from here.' },
  nodeFieldOptions: { description: 'The entry.' },
  firstArgOptions: argument({
    ...fields.page,
    description: `Entries from the start, 1 to ${MAX_PAGE}; ${DEFAULT_PAGE} by default.`,
  }),
  lastArgOptions: argument({ ...fields.page, description: `Entries from the end, 1 to ${MAX_PAGE}.` }),
  afterArgOptions: cursor('Cursor that the page begins after.'),
  beforeArgOptions: cursor('Cursor that the page ends before.'),
};

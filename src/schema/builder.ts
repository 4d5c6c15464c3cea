import SchemaBuilder from '@pothos/core';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import type PrismaTypes from '../database/generated/pothos-types.js';
import { getDatamodel } from '../database/generated/pothos-types.js';
import type { Field } from '../domain/kernel/field.js';
import type { Instant } from '../domain/kernel/time.js';
import type { GatewayContext } from './context.js';
import { DEFAULT_PAGE, MAX_PAGE, PAGE_DESCRIPTIONS } from './pages.js';

export interface SchemaTypes {
  Context: GatewayContext;
  PrismaTypes: PrismaTypes;
  DefaultFieldNullability: false;
  Scalars: {
    /** Micro-USD internally, and a JSON number in responses. */
    USD: { Input: bigint; Output: bigint };
    DateTime: { Input: Instant; Output: Instant | Date };
    Date: { Input: string; Output: string | Date };
    Labels: { Input: Record<string, string>; Output: Record<string, string> };
    Variables: { Input: Record<string, string>; Output: Record<string, string> };
    /** A document, such as a signed statement. It is only returned, never received. */
    Json: { Input: never; Output: object };
    ID: { Input: string; Output: string };
  };
}

export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [RelayPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  relay: { nodeQueryOptions: false, nodesQueryOptions: false, cursorType: 'String', ...PAGE_DESCRIPTIONS },
  prisma: {
    client: (context) => context.deps.db.prisma,
    dmmf: getDatamodel(),
    onUnusedQuery: 'error',
    maxConnectionSize: MAX_PAGE,
    defaultConnectionSize: DEFAULT_PAGE,
  },
});

builder.queryType({
  description: 'Reads. Prices, offers, quotes and the catalogue are public; all other fields need an API key.',
});
builder.mutationType({ description: 'Writes. All fields need an API key.' });

builder.subscriptionType({
  description:
    'Changes as they happen, sent as server-sent events (Accept: text/event-stream). Offers are public; all other fields need an API key. A stream ends with an error when its key is revoked or its account is suspended.',
});

/** Marks a root field that needs an API key and counts against the account's rate limit. */
export const NEEDS_KEY = { extensions: { needsKey: true } };

/**
 * Marks a public root field that counts against the rate limit if the caller sends a key, because the account is then
 * read as well.
 */
export const COUNTS_WITH_KEY = { extensions: { countsWithKey: true } };

/**
 * Returns an argument's description, default and bounds from its definition. REST and OpenAPI read them from the
 * schema.
 */
export function fromField<T>(field: Field<T>) {
  return { description: field.description, defaultValue: field.default, extensions: { field } };
}

/** Marks a field with a list that is limited by an argument. `usual` applies if the argument is omitted. */
export function lengthFrom(length: { argument: string; usual: number; most: number }) {
  return { extensions: { length } };
}

/** Marks a document or text that counts as `mostValues` values of a response, because it has no fields to count. */
export function ofSize(mostValues: number) {
  return { extensions: { mostValues } };
}

/** Marks a list without pages, of at most `mostEntries` entries. This number is used to compute query complexity. */
export function atMost(mostEntries: number) {
  return { extensions: { mostEntries } };
}

/**
 * Marks a type whose objects never change. Its fields that are scalars, or that are themselves of such a type, depend
 * only on the object, so a serialized selection of them can be cached with it.
 */
export const NEVER_CHANGES = { extensions: { neverChanges: true } };

/**
 * Marks a field as the old name of another. It shares the new field's resolver and keeps working until the next major
 * version. The activity log records the new name.
 */
export function renamedTo(name: string) {
  return {
    description: `Old name of ${name}.`,
    deprecationReason: `Renamed to ${name}.`,
    extensions: { renamedTo: name },
  };
}

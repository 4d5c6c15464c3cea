import { GraphQLError, valueFromASTUntyped } from 'graphql';
import { microOfUsd, usdNumber } from '../domain/kernel/money.js';
import { formatDay, formatInstant, INSTANT_TEXT, instantOf, isDay, parseInstant } from '../domain/kernel/time.js';
import { builder } from './builder.js';

const FIRST_DAY = '1970-01-01';

function isAcceptedDay(text: string): boolean {
  return text >= FIRST_DAY && isDay(text);
}

builder.scalarType('USD', {
  description: 'An amount in US dollars: a JSON number, exact to 6 decimals.',
  serialize: usdNumber,
  parseValue: (value) => {
    const micro = typeof value === 'number' ? microOfUsd(value) : null;
    if (micro === null) throw new GraphQLError('USD must be a number with at most 6 decimals');
    return micro;
  },
});

builder.scalarType('DateTime', {
  description: 'An instant in UTC, RFC 3339 with whole seconds: 2026-11-20T09:43:00Z.',
  serialize: (value) => formatInstant(value instanceof Date ? instantOf(value) : value),
  parseValue: (value) => {
    const instant = typeof value === 'string' ? parseInstant(value) : null;
    if (instant === null) throw new GraphQLError(`DateTime must be ${INSTANT_TEXT}`);
    return instant;
  },
});

builder.scalarType('Date', {
  description: 'A calendar date: 2026-11-20.',
  serialize: (value) => (value instanceof Date ? formatDay(value) : value),
  parseValue: (value) => {
    if (typeof value !== 'string' || !isAcceptedDay(value)) {
      throw new GraphQLError('Date must be YYYY-MM-DD, 1970-01-01 or later');
    }
    return value;
  },
});

builder.scalarType('Labels', {
  description: 'Labels: a JSON object of strings by key, such as {"team": "vision"}.',
  serialize: (value) => value,
  // Keys and values are checked by the code that uses them.
  parseValue: (value) => value as Record<string, string>,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables) as Record<string, string>,
});

builder.scalarType('Variables', {
  description: 'Environment variables: a JSON object of strings by name, such as {"MODE": "fast"}.',
  serialize: (value) => value,
  // Variable names and values are checked by the code that uses them.
  parseValue: (value) => value as Record<string, string>,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables) as Record<string, string>,
});

builder.scalarType('Json', {
  description: 'A JSON document, whose members docs/proofs.md defines by its `type`.',
  serialize: (value) => value,
  parseValue: () => {
    throw new GraphQLError('Json is only returned');
  },
});

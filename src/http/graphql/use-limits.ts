import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  Lexer,
  OperationTypeNode,
  parse,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../domain/kernel/errors.js';
import { countValues } from './counted-values.js';
import { refusal } from './graphql-errors.js';
import { nameBounds } from './input-bounds.js';
import type { OperationMeasures } from './operation-measure.js';
import type { Plugin } from './plugin.js';
import type { Check } from './use-checks.js';

/** Maximum number of tokens in a document, which bounds the time for parsing and validation. */
const MAX_TOKENS = 2_000;
/** Maximum nesting depth of brackets of any kind, because the parser recurses. */
const MAX_NESTING = 64;
/** Maximum nesting depth of fields. The introspection query that tools send has a depth of 15. */
const MAX_DEPTH = 16;
/** Maximum number of root fields in an operation. Each alias counts. */
const MAX_ROOT_FIELDS = 250;
const MAX_DIRECTIVES = 100;
/** Maximum number of values in a response. */
const MAX_VALUES = 50_000;
/** Maximum number of values in a subscription event. It is lower because events are created repeatedly. */
const MAX_EVENT_VALUES = 5_000;
/** Maximum total length of cached documents. A parsed document takes up to 500 bytes for each character of its text. */
const MAX_CACHED_CHARACTERS = 100_000;
const MAX_CACHED_DOCUMENTS = 1_000;

const OPENING: readonly TokenKind[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const CLOSING: readonly TokenKind[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Rejects a document that is too large before any time is spent on validation. */
export function useLimits(schema: GraphQLSchema, measures: OperationMeasures): Plugin {
  return {
    onValidate({ params }) {
      return ({ result }) => nameBounds(schema, params.documentAST, result as readonly GraphQLError[]);
    },
    onParse({ setParseFn }) {
      setParseFn((text: string, options: object) => {
        if (nestingOf(text, MAX_TOKENS) > MAX_NESTING)
          throw refusal(`brackets may be nested at most ${MAX_NESTING} deep`, { spec: true });
        return bounded(parse(text, { ...options, maxTokens: MAX_TOKENS }), measures);
      });
    },
  };
}

/** Rejects an operation whose response or event would be too large. */
export function checkAnswer(measures: OperationMeasures): Check {
  return (args) => {
    const measure = measures.of(args);
    if (measure === null) return null;
    const isEvent = measure.operation.operation === OperationTypeNode.SUBSCRIPTION;
    if (!measure.exceeds(isEvent ? MAX_EVENT_VALUES : MAX_VALUES, args.coerced ?? {})) return null;
    return { errors: [refusal(tooMany(isEvent), { spec: true })] };
  };
}

/**
 * Limits the size of a schema's responses while they are created. A list without pages is as long as the account's
 * data, so this wraps the list resolvers and counts their values as they are resolved.
 */
export function limitAnswers(schema: GraphQLSchema): void {
  const isEvent = ({ operation }: GraphQLResolveInfo) => operation.operation === OperationTypeNode.SUBSCRIPTION;
  countValues(schema, {
    mostOf: (info) => (isEvent(info) ? MAX_EVENT_VALUES : MAX_VALUES),
    tooMany: (info) => new DomainError('invalid_request', tooMany(isEvent(info))),
  });
}

function tooMany(isEvent: boolean): string {
  const [answer, most] = isEvent ? ['an event', MAX_EVENT_VALUES] : ['the answer', MAX_VALUES];
  return `${answer} may have at most ${most} values; request smaller pages or fewer fields`;
}

/** Returns replacements for Yoga's caches, which hold 1,024 documents of any size. */
export function boundedCaches() {
  return { documentCache: cache<DocumentNode>(), errorCache: cache<object>() };
}

function cache<T extends object>(): LRUCache<string, T> {
  return new LRUCache({
    max: MAX_CACHED_DOCUMENTS,
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_value, text) => Math.max(text.length, 1),
  });
}

function bounded(document: DocumentNode, measures: OperationMeasures): DocumentNode {
  for (const measure of measures.all(document)) {
    if (measure.rootFields(null) > MAX_ROOT_FIELDS)
      throw refusal(`an operation may have at most ${MAX_ROOT_FIELDS} root fields`, { spec: true });
    if (measure.depth > MAX_DEPTH) throw refusal(`fields may be nested at most ${MAX_DEPTH} deep`, { spec: true });
  }
  const directives = directivesOf(document);
  if (directives > MAX_DIRECTIVES)
    throw refusal(`a document may have at most ${MAX_DIRECTIVES} directives`, { spec: true });
  return document;
}

/** Returns the nesting depth of brackets of any kind within the first `maxTokens` tokens. */
function nestingOf(text: string, maxTokens: number): number {
  const lexer = new Lexer(new Source(text));
  let [depth, deepest] = [0, 0];
  for (let tokens = 0; tokens < maxTokens; tokens += 1) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) break;
    if (OPENING.includes(kind)) depth += 1;
    if (CLOSING.includes(kind)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Returns the number of directives, before validation. */
function directivesOf(document: DocumentNode): number {
  let count = 0;
  visit(document, {
    Directive: () => {
      count += 1;
    },
  });
  return count;
}

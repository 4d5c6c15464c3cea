import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  parse,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { type ErrorCode, STATUS_OF } from '../../domain/rules/errors.js';
import { answerValues, mostAnswerValues } from './answer-values.js';
import { depthOf, directivesOf, fragmentsOf, nestingOf, rootFieldsOf } from './document-measures.js';

/** Bounds how long a document can keep the parser and validation busy. */
const MAX_TOKENS = 2_000;
/** Brackets of any kind within brackets: the parser recurses. */
const MAX_NESTING = 64;
/** Fields within fields. The introspection query that tools send has 15. */
const MAX_DEPTH = 16;
/** Fields at the top of an operation, each alias on its own. */
const MAX_ROOT_FIELDS = 250;
const MAX_DIRECTIVES = 100;
/** Values in the answer, if every list is as long as it was asked for. */
const MAX_VALUES = 50_000;
/** As much of an event of a subscription, which is made again and again. */
const MAX_EVENT_VALUES = 5_000;
/** A parsed document takes up to 500 bytes for each character of its text. */
const MAX_CACHED_CHARACTERS = 100_000;
const MAX_CACHED_DOCUMENTS = 1_000;

/** An operation that is about to run; a subscription runs once, when it is opened. */
export interface Begun {
  args: ExecutionArgs;
  setResultAndStopExecution(result: ExecutionResult): void;
}

/** Refuses a document out of bounds before validation spends time on it, an answer out of bounds before anything runs. */
export function useLimits(schema: GraphQLSchema): Plugin {
  const limitValues =
    (most: number, answer: string) =>
    ({ args, setResultAndStopExecution }: Begun) => {
      const { document, operationName, variableValues } = args;
      if (mostAnswerValues(schema, document, operationName) <= most) return;
      if (answerValues(schema, document, operationName, variableValues ?? {}) <= most) return;
      const message = `${answer} may hold ${most} values at most; ask for smaller pages, or for less at once`;
      setResultAndStopExecution({ errors: [refusal(message)] });
    };
  return {
    onParse({ setParseFn }) {
      setParseFn((text: string, options: object) => {
        if (nestingOf(text, MAX_TOKENS) > MAX_NESTING)
          throw refusal(`brackets may be nested ${MAX_NESTING} deep at most`);
        return bounded(parse(text, { ...options, maxTokens: MAX_TOKENS }));
      });
    },
    onExecute: limitValues(MAX_VALUES, 'the answer'),
    onSubscribe: limitValues(MAX_EVENT_VALUES, 'an event'),
  };
}

/** In place of Yoga's caches, which hold 1,024 documents of any size each. */
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

function bounded(document: DocumentNode): DocumentNode {
  const fragments = fragmentsOf(document);
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const rootFields = rootFieldsOf(node.selectionSet, fragments);
    if (rootFields > MAX_ROOT_FIELDS) throw refusal(`an operation may have ${MAX_ROOT_FIELDS} root fields at most`);
    const depth = depthOf(node.selectionSet, fragments);
    if (depth > MAX_DEPTH) throw refusal(`fields may be nested ${MAX_DEPTH} deep at most`);
  }
  const directives = directivesOf(document);
  if (directives > MAX_DIRECTIVES) throw refusal(`a document may have ${MAX_DIRECTIVES} directives at most`);
  return document;
}

/** 422 where the answer's type has a status for it; plain JSON answers are 200 (GraphQL over HTTP). */
function refusal(message: string): GraphQLError {
  const code: ErrorCode = 'invalid_request';
  const status = STATUS_OF[code];
  return new GraphQLError(message, { extensions: { code, status, http: { status, spec: true } } });
}

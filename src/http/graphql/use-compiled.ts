import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

/** Compiling takes as long as running some hundred times: it is done for what comes again. */
const COMPILED_AT_USE = 3;
const MAX_COMPILED = 100;
/** Of a document's text: the code takes many times that. */
const MAX_CHARACTERS = 4_000;

type Execute = (args: ExecutionArgs) => unknown;

/** Queries and mutations that come again and again run as compiled code instead of being interpreted. */
export function useCompiled(schema: GraphQLSchema): Plugin {
  const uses = new WeakMap<object, number>();
  const compiled = new LRUCache<object, Map<string, CompiledQuery | null>>({ max: MAX_COMPILED });
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      // Yoga gives the same document for the same text, as long as it remembers it.
      const count = (uses.get(args.document) ?? 0) + 1;
      uses.set(args.document, count);
      if (count < COMPILED_AT_USE) return;
      const operations = compiled.get(args.document) ?? new Map();
      compiled.set(args.document, operations);
      const name = args.operationName ?? '';
      if (!operations.has(name)) operations.set(name, compile(schema, args));
      const query = operations.get(name);
      if (query !== null) setExecuteFn(runner(query, executeFn as Execute));
    },
  };
}

/** Null for what compiled code would answer otherwise than the interpreter. */
function compile(schema: GraphQLSchema, { document, operationName }: ExecutionArgs): CompiledQuery | null {
  const operation = getOperationAST(document, operationName);
  // A null for such a variable passes validation; only the interpreter refuses it where an argument may not be null.
  const mayBeNull = operation?.variableDefinitions?.some(
    ({ type, defaultValue }) => type.kind !== Kind.NON_NULL_TYPE && defaultValue !== undefined,
  );
  // An alias of this name would be the prototype of the compiled answer.
  const text = document.loc!.source.body;
  if (mayBeNull || text.length > MAX_CHARACTERS || text.includes('__proto__')) return null;
  const query = compileQuery(schema, document, operationName ?? undefined);
  return isCompiledQuery(query) ? query : null;
}

function runner({ query }: CompiledQuery, interpret: Execute): Execute {
  return (args) => {
    const then = (result: ExecutionResult) => {
      // Nothing ran: the variables do not fit, which is told in the same words always.
      if (!('data' in result)) return interpret(args);
      const { errors, data } = result;
      // Errors stand first, as the interpreter has them.
      return errors === undefined ? result : { errors: errors.map((error) => located(error, args.document)), data };
    };
    const result = query(args.rootValue, args.contextValue, args.variableValues) as
      | ExecutionResult
      | Promise<ExecutionResult>;
    return result instanceof Promise ? result.then(then) : then(result);
  };
}

/** Compiled code tells lines and columns alone, from which no error can be made again. */
function located({ message, locations, path, originalError, extensions }: GraphQLError, document: DocumentNode) {
  const source = document.loc!.source;
  const starts = [0, ...Array.from(source.body.matchAll(/\r\n|[\n\r]/g), ({ 0: end, index }) => index + end.length)];
  const positions = locations?.map(({ line, column }) => starts[line - 1]! + column - 1);
  return new GraphQLError(message, { source, positions, path, originalError, extensions });
}

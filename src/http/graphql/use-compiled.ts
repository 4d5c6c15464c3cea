import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import { CachedLists } from './cached-lists.js';
import type { Plugin } from './plugin.js';
import { sourceOf } from './source-of.js';

/** Compilation takes as long as running an operation a few hundred times, so it only pays off for recurring ones. */
const COMPILED_AT_USE = 3;
const MAX_COMPILED = 100;
/** Maximum length of a compiled document, because compiled code takes many times as much memory. */
const MAX_CHARACTERS = 4_000;

export type Execute = (args: ExecutionArgs) => unknown;

/** An operation that has been sent repeatedly. */
interface Repeated {
  document: DocumentNode;
  /** The compiled query, or null if only the interpreter can run the operation. */
  query: CompiledQuery | null;
  /** Runs a query without Yoga. Null for any other operation. */
  run: Execute | null;
}

/** Holds the compiled code of queries and mutations that are sent repeatedly. */
export class CompiledOperations {
  readonly #schema: GraphQLSchema;
  readonly #lists: CachedLists;
  readonly #uses = new WeakMap<DocumentNode, number>();
  /** Operations by document text and then by name, where null means no name. */
  readonly #repeated = new LRUCache<string, Map<string | null, Repeated>>({ max: MAX_COMPILED });

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
    this.#lists = new CachedLists(schema);
  }

  /** Counts one use of a valid document and returns its executor, which is either compiled code or `interpret`. */
  use(args: ExecutionArgs, interpret: Execute): Execute {
    const { document, operationName } = args;
    const text = sourceOf(document).body;
    // The same text yields the same document while it is in Yoga's cache.
    const count = (this.#uses.get(document) ?? 0) + 1;
    this.#uses.set(document, count);
    if (count < COMPILED_AT_USE || text.length > MAX_CHARACTERS) return interpret;
    const operations = this.#repeated.get(text) ?? new Map<string | null, Repeated>();
    this.#repeated.set(text, operations);
    // An empty name matches no operation.
    const name = operationName ?? null;
    const known = operations.get(name) ?? this.#compiled(args);
    operations.set(name, known);
    return known.query === null ? interpret : runner(known.query, interpret);
  }

  /** Returns a compiled query with its document and an executor that bypasses Yoga. */
  findQuery(text: string, operationName: string | null | undefined): { document: DocumentNode; run: Execute } | null {
    const known = this.#repeated.get(text)?.get(operationName ?? null);
    return known === undefined || known.run === null ? null : { document: known.document, run: known.run };
  }

  #compiled(args: ExecutionArgs): Repeated {
    const { document } = args;
    const query = compile(this.#schema, args);
    const operation = getOperationAST(document, args.operationName);
    if (query === null || operation?.operation !== 'query') return { document, query, run: null };
    const whole = runner(query, execute as Execute);
    const cached = this.#lists.prepare(document, operation);
    return {
      document,
      query,
      run: cached === null ? whole : async (checkedArgs) => (await cached(checkedArgs)) ?? whole(checkedArgs),
    };
  }
}

/** Runs queries and mutations that are sent repeatedly as compiled code. */
export function useCompiled(compiled: CompiledOperations): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      setExecuteFn(compiled.use(args, executeFn as Execute));
    },
  };
}

/** Compiles an operation. Returns null if its compiled code would respond differently from the interpreter. */
function compile(schema: GraphQLSchema, { document, operationName }: ExecutionArgs): CompiledQuery | null {
  const operation = getOperationAST(document, operationName);
  // A null value for such a variable passes validation. Only the interpreter rejects it when the argument is non-null.
  const mayBeNull = operation?.variableDefinitions?.some(
    ({ type, defaultValue }) => type.kind !== Kind.NON_NULL_TYPE && defaultValue !== undefined,
  );
  // An alias with this name would become the prototype of the compiled response.
  const text = sourceOf(document).body;
  if (mayBeNull || text.includes('__proto__')) return null;
  const query = compileQuery(schema, document, operationName ?? undefined);
  return isCompiledQuery(query) ? query : null;
}

function runner({ query }: CompiledQuery, interpret: Execute): Execute {
  return (args) => {
    const then = (result: ExecutionResult) => {
      // Nothing ran, because the variables don't match their definitions. The interpreter always returns the same
      // message.
      if (!('data' in result)) return interpret(args);
      const { errors, data } = result;
      // Errors come first, as in the interpreter's results.
      if (errors === undefined) return result;
      return { errors: firstOfEachNull(errors, data).map((error) => located(error, args.document)), data };
    };
    const result = query(args.rootValue, args.contextValue, args.variableValues) as
      | ExecutionResult
      | Promise<ExecutionResult>;
    return result instanceof Promise ? result.then(then) : then(result);
  };
}

/**
 * Keeps one error for each list that became null, as the specification requires. Compiled code reports one for each of
 * the list's entries.
 */
function firstOfEachNull(errors: readonly GraphQLError[], data: unknown): GraphQLError[] {
  const logged = new Set<string>();
  return errors.filter(({ path = [], message }) => {
    const fields = path.filter((key) => typeof key === 'string');
    const reason = JSON.stringify([nullAt(data, path), fields, message]);
    if (logged.has(reason)) return false;
    logged.add(reason);
    return true;
  });
}

/** Returns the beginning of the path, ending at the part that became null. */
function nullAt(data: unknown, path: readonly (string | number)[]): readonly (string | number)[] {
  let value = data;
  const length = path.findIndex((key) => {
    if (value == null) return true;
    value = (value as Record<string | number, unknown>)[key];
    return false;
  });
  return length < 0 ? path : path.slice(0, length);
}

/** Restores an error's positions in the source, which masking needs. Compiled code only reports lines and columns. */
function located({ message, locations, path, originalError, extensions }: GraphQLError, document: DocumentNode) {
  const source = sourceOf(document);
  const starts = [0, ...Array.from(source.body.matchAll(/\r\n|[\n\r]/g), ({ 0: end, index }) => index + end.length)];
  const positions = locations?.map(({ line, column }) => starts[line - 1]! + column - 1);
  return new GraphQLError(message, { source, positions, path, originalError, extensions });
}

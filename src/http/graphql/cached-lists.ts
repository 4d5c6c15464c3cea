import {
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  locatedError,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { type Fragments, fragmentsOf } from './operation-measure.js';
import type { Written } from './send-result.js';
import type { CheckedArgs } from './use-checks.js';

/**
 * Maximum total length of all cached strings, measured in characters of at most two bytes. Includes each string's
 * overhead.
 */
const MAX_CHARACTERS = 8_000_000;
const OVERHEAD_CHARACTERS = 64;

/** Runs an operation whose variables have been checked. Resolves to null if it must run like any other operation. */
export type RunCached = (args: CheckedArgs) => Promise<Written | ExecutionResult | null>;

/** An operation's only field, which belongs to the query type. */
interface ListField {
  node: FieldNode;
  field: GraphQLField<unknown, unknown>;
}

interface Seen {
  fragments: Fragments;
  /** Names of visited fragments. */
  spread: Set<string>;
}

/**
 * Serves lists of objects that never change (`NEVER_CHANGES` in the schema) by joining the serialized objects. Each
 * object is serialized once per selection. The field's resolver still determines which objects are in the list.
 */
export class CachedLists {
  readonly #schema: GraphQLSchema;
  readonly #texts: CachedTexts;

  constructor(schema: GraphQLSchema, mostCharacters = MAX_CHARACTERS) {
    this.#schema = schema;
    this.#texts = new CachedTexts(mostCharacters);
  }

  /**
   * Returns null if the operation requests anything other than one such list, or if variables determine which fields
   * are selected.
   */
  prepare(document: DocumentNode, operation: OperationDefinitionNode): RunCached | null {
    const fragments = fragmentsOf(document);
    const root = this.#schema.getQueryType();
    const list = root == null ? null : listOf(operation, root);
    if (root == null || list === null) return null;
    const { node, field } = list;
    if (!isCacheable(getNamedType(field.type), node.selectionSet!, { fragments, spread: new Set() })) return null;
    const textsOf = this.#textsOf(list, document);
    const key = (node.alias ?? node.name).value;
    const info = {
      fieldName: field.name,
      fieldNodes: [node],
      returnType: field.type,
      parentType: root,
      path: { prev: undefined, key, typename: 'Query' },
      schema: this.#schema,
      fragments: Object.fromEntries(fragments),
      operation,
    };
    return async ({ rootValue, contextValue, coerced = {} }) => {
      let entries: object[];
      try {
        const fieldArguments = getArgumentValues(field, node, coerced);
        const found = field.resolve!(rootValue, fieldArguments, contextValue, {
          ...info,
          rootValue,
          variableValues: coerced,
        });
        entries = (await found) as object[];
      } catch (error) {
        return { errors: [locatedError(error, [node], [key])], data: null };
      }
      const texts = textsOf(entries, contextValue);
      return texts && { text: `{"data":{"${key}":[${texts.join(',')}]}}` };
    };
  }

  /**
   * Serializes each entry using the list's selection. Returns null if an entry has an error, which only a regular
   * response can report.
   */
  #textsOf({ node, field }: ListField, document: DocumentNode) {
    const query = compileQuery(schemaOf(field.type), entriesOf(node, document));
    const selection = {};
    return (entries: readonly object[], context: unknown): string[] | null => {
      const texts = entries.map((entry) => this.#texts.get(entry, selection));
      const missing = entries.filter((_entry, place) => texts[place] === undefined);
      if (missing.length === 0) return texts as string[];
      if (!isCompiledQuery(query)) return null;
      const { data, errors } = query.query(missing, context, {}) as ExecutionResult<{ entries: object[] }>;
      if (data == null || errors !== undefined) return null;
      const made = data.entries.map((entry) => JSON.stringify(entry));
      made.forEach((text, place) => {
        this.#texts.keep(missing[place]!, selection, text);
      });
      return texts.map((text) => text ?? made.shift()!);
    };
  }
}

/**
 * Serialized objects by selection. Each string lives as long as its object. If there are too many strings, all of them
 * are dropped.
 */
export class CachedTexts {
  readonly #mostCharacters: number;
  #texts = new WeakMap<object, Map<object, string>>();
  #characters = 0;

  constructor(mostCharacters: number) {
    this.#mostCharacters = mostCharacters;
  }

  get(entry: object, selection: object): string | undefined {
    return this.#texts.get(entry)?.get(selection);
  }

  keep(entry: object, selection: object, text: string): void {
    const taken = text.length + OVERHEAD_CHARACTERS;
    this.#characters += taken;
    if (this.#characters > this.#mostCharacters) {
      this.#texts = new WeakMap();
      this.#characters = taken;
    }
    const known = this.#texts.get(entry);
    if (known === undefined) this.#texts.set(entry, new Map([[selection, text]]));
    else known.set(selection, text);
  }
}

/** Returns the list that is an operation's only field. */
function listOf({ operation, selectionSet }: OperationDefinitionNode, root: GraphQLObjectType): ListField | null {
  const [node, ...others] = selectionSet.selections;
  if (operation !== 'query' || others.length > 0) return null;
  if (node?.kind !== Kind.FIELD || hasDirectives(node)) return null;
  const field = root.getFields()[node.name.value];
  const isList = field !== undefined && isListType(getNullableType(field.type));
  return isList && node.selectionSet !== undefined ? { node, field } : null;
}

function hasDirectives({ directives }: SelectionNode): boolean {
  return directives !== undefined && directives.length > 0;
}

/** Returns whether the selection depends only on the object, not on the caller or the variables. */
function isCacheable(type: GraphQLNamedType, { selections }: SelectionSetNode, seen: Seen): boolean {
  if (!isObjectType(type) || type.extensions.neverChanges !== true) return false;
  return selections.every((node) => {
    if (hasDirectives(node)) return false;
    if (node.kind === Kind.INLINE_FRAGMENT) return isCacheable(type, node.selectionSet, seen);
    if (node.kind === Kind.FRAGMENT_SPREAD) {
      const { name } = node;
      if (seen.spread.has(name.value)) return true;
      seen.spread.add(name.value);
      return isCacheable(type, seen.fragments.get(name.value)!.selectionSet, seen);
    }
    const field = type.getFields()[node.name.value];
    if (field === undefined) return node.name.value === TypeNameMetaFieldDef.name;
    const below = getNamedType(field.type);
    return (
      field.args.length === 0 &&
      (node.selectionSet === undefined ? isLeafType(below) : isCacheable(below, node.selectionSet, seen))
    );
  });
}

/** Creates a schema with a single field, `entries`, which returns the list passed as its root value. */
function schemaOf(type: GraphQLOutputType): GraphQLSchema {
  const entries = { type, resolve: (list: unknown) => list };
  return new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields: { entries } }) });
}

/** Returns the list's selection as a query against that schema. */
function entriesOf(node: FieldNode, document: DocumentNode): DocumentNode {
  const entries: FieldNode = { ...node, name: { kind: Kind.NAME, value: 'entries' }, alias: undefined, arguments: [] };
  const query: OperationDefinitionNode = {
    kind: Kind.OPERATION_DEFINITION,
    operation: OperationTypeNode.QUERY,
    selectionSet: { kind: Kind.SELECTION_SET, selections: [entries] },
  };
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return { ...document, definitions: [query, ...fragments] };
}

import {
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  getOperationAST,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  valueFromASTUntyped,
} from 'graphql';
import { type Fragments, fragmentsOf } from './document-measures.js';

/** Arguments that set a list's length. The schema itself rejects values above the maximum. */
const SIZE_ARGUMENTS = ['limit', 'first', 'last'];
const MAX_PAGE = 100;
const DEFAULT_PAGE = 25;
/**
 * Assumed length of lists without a specified size, such as the account's own lists, the catalogue's and the schema's.
 */
const LIST_SIZE = 100;
const INTROSPECTION_LIST_SIZE = 8;

const META_FIELDS = [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef];

interface Scope {
  schema: GraphQLSchema;
  fragments: Fragments;
  variables: Readonly<Record<string, unknown>>;
  /** Value counts of visited fragments, by name and page. */
  known: Map<string, number>;
}

/** The parts of an operation that determine the size of its response. */
type SizedOperation = Pick<ExecutionArgs, 'document' | 'operationName' | 'variableValues'>;

/**
 * Returns a function that checks whether the response to a valid document may contain more than `most` values if every
 * page has the requested length. Fields excluded by @skip and @include also count.
 */
export function createAnswerLimit(schema: GraphQLSchema): (args: SizedOperation, most: number) => boolean {
  /**
   * Value counts with variables that request the longest pages. There are never more entries than documents in the
   * cache.
   */
  const greatest = new WeakMap<OperationDefinitionNode, number>();
  const greatestOf = (document: DocumentNode, operation: OperationDefinitionNode): number => {
    const known = greatest.get(operation);
    if (known !== undefined) return known;
    const variables = (operation.variableDefinitions ?? []).map(({ variable }) => [
      variable.name.value,
      Number.MAX_SAFE_INTEGER,
    ]);
    const values = answerValues(schema, document, operation, Object.fromEntries(variables));
    greatest.set(operation, values);
    return values;
  };
  return ({ document, operationName, variableValues }, most) => {
    const operation = getOperationAST(document, operationName);
    if (operation == null || greatestOf(document, operation) <= most) return false;
    return answerValues(schema, document, operation, variableValues ?? {}) > most;
  };
}

function answerValues(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue === undefined ? [] : [[variable.name.value, valueFromASTUntyped(defaultValue)]],
  );
  const scope: Scope = {
    schema,
    fragments: fragmentsOf(document),
    variables: { ...Object.fromEntries(defaults), ...variables },
    known: new Map(),
  };
  return valuesOf(operation.selectionSet, schema.getRootType(operation.operation)!, null, scope);
}

/**
 * Counts the values in a selection. `page` is the length that a field sets for the list below it, as a connection does
 * for its edges.
 */
function valuesOf(selectionSet: SelectionSetNode, type: GraphQLNamedType, page: number | null, scope: Scope): number {
  return selectionSet.selections.reduce((sum, node) => sum + nodeValues(node, type, page, scope), 0);
}

function nodeValues(node: SelectionNode, type: GraphQLNamedType, page: number | null, scope: Scope): number {
  if (node.kind === Kind.FIELD) return fieldValues(node, type, page, scope);
  if (node.kind === Kind.FRAGMENT_SPREAD) return fragmentValues(node.name.value, page, scope);
  const condition = node.typeCondition?.name.value;
  return valuesOf(node.selectionSet, condition === undefined ? type : scope.schema.getType(condition)!, page, scope);
}

function fieldValues(node: FieldNode, parent: GraphQLNamedType, page: number | null, scope: Scope): number {
  const field = fieldOf(parent, node.name.value);
  const type = getNamedType(field.type);
  const requested = requestedPage(node, field, scope);
  const below = (length: number | null) =>
    1 + (node.selectionSet === undefined ? 0 : valuesOf(node.selectionSet, type, length, scope));
  if (!isListType(getNullableType(field.type))) return below(requested);
  return (requested ?? page ?? assumedLength(field, type)) * below(null);
}

/** Returns the assumed length of a list without pages, which is the maximum in the field's `mostEntries` extension. */
function assumedLength({ extensions }: GraphQLField<unknown, unknown>, type: GraphQLNamedType): number {
  if (typeof extensions.mostEntries === 'number') return extensions.mostEntries;
  return isIntrospectionType(type) ? INTROSPECTION_LIST_SIZE : LIST_SIZE;
}

function fragmentValues(name: string, page: number | null, scope: Scope): number {
  const key = `${name} ${page}`;
  const known = scope.known.get(key);
  if (known !== undefined) return known;
  const { typeCondition, selectionSet } = scope.fragments.get(name)!;
  const values = valuesOf(selectionSet, scope.schema.getType(typeCondition.name.value)!, page, scope);
  scope.known.set(key, values);
  return values;
}

function fieldOf(parent: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> {
  const fields = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields() : {};
  return fields[name] ?? META_FIELDS.find((field) => field.name === name)!;
}

/** Returns the page length specified by the field's arguments, or null if the field has no such argument. */
function requestedPage(node: FieldNode, field: GraphQLField<unknown, unknown>, { variables }: Scope): number | null {
  const own = field.extensions.length as { argument: string; usual: number; most: number } | undefined;
  const names = own === undefined ? SIZE_ARGUMENTS : [own.argument];
  const { usual, most } = own ?? { usual: DEFAULT_PAGE, most: MAX_PAGE };
  if (!field.args.some(({ name }) => names.includes(name))) return null;
  const sizes = (node.arguments ?? [])
    .filter(({ name }) => names.includes(name.value))
    .map(({ value }) => valueFromASTUntyped(value, variables))
    .filter((size) => typeof size === 'number');
  return Math.min(sizes.length === 0 ? usual : Math.max(...sizes, 0), most);
}

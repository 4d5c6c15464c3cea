import {
  type DocumentNode,
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

/** Arguments that say how long a list may be, and what the schema allows at most: it refuses more by itself. */
const SIZE_ARGUMENTS = ['limit', 'first', 'last'];
const MAX_PAGE = 100;
const DEFAULT_PAGE = 25;
/** What a list is taken for that nobody gives a size: an account's, the catalogue's, or the schema's own. */
const LIST_SIZE = 100;
const INTROSPECTION_LIST_SIZE = 8;

const META_FIELDS = [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef];

interface Scope {
  schema: GraphQLSchema;
  fragments: Fragments;
  variables: Readonly<Record<string, unknown>>;
  /** Of the fragments met so far, by name and page. */
  known: Map<string, number>;
}

/**
 * How many values the answer to a valid document may hold, if every page is as long as was asked for. Fields that are
 * skipped count too.
 */
export function answerValues(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>>,
): number {
  const operation = getOperationAST(document, operationName);
  if (operation == null) return 0;
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

const mostValues = new WeakMap<OperationDefinitionNode, number>();

/** As `answerValues`, with variables that ask for as much as any may: reckoned once, for a document that comes again. */
export function mostAnswerValues(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): number {
  const operation = getOperationAST(document, operationName);
  if (operation == null) return 0;
  const known = mostValues.get(operation);
  if (known !== undefined) return known;
  const variables = (operation.variableDefinitions ?? []).map(({ variable }) => [variable.name.value, MAX_PAGE]);
  const most = answerValues(schema, document, operationName, Object.fromEntries(variables));
  mostValues.set(operation, most);
  return most;
}

/** `page` is the length that a field gave to the list below it, as a connection does to its edges. */
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
  const given = givenPage(node, field, scope);
  const below = (length: number | null) =>
    1 + (node.selectionSet === undefined ? 0 : valuesOf(node.selectionSet, type, length, scope));
  if (!isListType(getNullableType(field.type))) return below(given);
  return (given ?? page ?? (isIntrospectionType(type) ? INTROSPECTION_LIST_SIZE : LIST_SIZE)) * below(null);
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

/** The page length that the field's arguments give; null when it takes none. */
function givenPage(node: FieldNode, field: GraphQLField<unknown, unknown>, { variables }: Scope): number | null {
  if (!field.args.some(({ name }) => SIZE_ARGUMENTS.includes(name))) return null;
  const sizes = (node.arguments ?? [])
    .filter(({ name }) => SIZE_ARGUMENTS.includes(name.value))
    .map(({ value }) => valueFromASTUntyped(value, variables))
    .filter((size) => typeof size === 'number');
  return Math.min(sizes.length === 0 ? DEFAULT_PAGE : Math.max(...sizes, 0), MAX_PAGE);
}

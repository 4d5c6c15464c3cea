import {
  type DocumentNode,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { type Fragments, fragmentsOf } from './document-measures.js';

type Variables = Record<string, unknown>;
/** Whether a root field counts; one of introspection is undefined. */
type Counts = (field: GraphQLField<unknown, unknown> | undefined) => boolean;

/**
 * What a GraphQL request counts as: one per root field that needs a key, each alias on its own, fields of fragments
 * as often as they are spread, fields left out by @skip and @include not at all.
 */
export function requestCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Variables,
): number {
  const operation = getOperationAST(document, operationName);
  if (operation == null || isPublic(schema, document, operation)) return 0;
  return rootFields(schema, document, operationName, variables, needsKey) ?? 0;
}

const needsKey: Counts = (field) => field?.extensions.needsKey === true;
const publicOperations = new WeakMap<OperationDefinitionNode, boolean>();

/** Whether no field counts, whatever the variables: reckoned once, for a document that comes again. */
function isPublic(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): boolean {
  const known = publicOperations.get(operation);
  if (known !== undefined) return known;
  const found = costOf(operation.selectionSet, scopeOf(schema, document, operation, null, needsKey)) === 0;
  publicOperations.set(operation, found);
  return found;
}

/** Root fields that count; null for variables that do not fit. */
export function rootFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Variables,
  counts: Counts,
): number | null {
  const operation = getOperationAST(document, operationName);
  if (operation == null) return null;
  // With the defaults that the operation gives its variables. Variables that do not fit are refused before anything runs.
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (coerced === undefined) return null;
  return costOf(operation.selectionSet, scopeOf(schema, document, operation, coerced, counts));
}

function scopeOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operation }: OperationDefinitionNode,
  variables: Variables | null,
  counts: Counts,
): Scope {
  const root = schema.getRootType(operation)!;
  return { root, counts, fragments: fragmentsOf(document), variables, costs: new Map() };
}

interface Scope {
  root: GraphQLObjectType;
  counts: Counts;
  fragments: Fragments;
  /** Null: nothing is left out. */
  variables: Variables | null;
  /** Of the fragments met so far: each is reckoned once, however often fragments spread each other. */
  costs: Map<string, number>;
}

/** Validation has refused fragments that spread themselves. */
function costOf(selectionSet: SelectionSetNode, scope: Scope): number {
  return selectionSet.selections.reduce((sum, node) => sum + (isLeftOut(node, scope) ? 0 : nodeCost(node, scope)), 0);
}

function nodeCost(node: SelectionNode, scope: Scope): number {
  if (node.kind === Kind.INLINE_FRAGMENT) return costOf(node.selectionSet, scope);
  if (node.kind === Kind.FRAGMENT_SPREAD) return fragmentCost(node.name.value, scope);
  return scope.counts(scope.root.getFields()[node.name.value]) ? 1 : 0;
}

function fragmentCost(name: string, scope: Scope): number {
  const cost = scope.costs.get(name) ?? costOf(scope.fragments.get(name)!.selectionSet, scope);
  scope.costs.set(name, cost);
  return cost;
}

function isLeftOut(node: SelectionNode, { variables }: Scope): boolean {
  if (variables === null) return false;
  return (
    getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true ||
    getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if === false
  );
}

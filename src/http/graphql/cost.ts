import {
  type DocumentNode,
  type ExecutionArgs,
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
/** The parts of an operation that determine its cost. */
export type CostedOperation = Pick<ExecutionArgs, 'document' | 'operationName' | 'variableValues'>;
/** Decides whether a root field counts. Called with undefined for introspection fields. */
type Counts = (field: GraphQLField<unknown, unknown> | undefined) => boolean;

/**
 * Returns a function that computes the cost of a GraphQL request, which is the number of root fields that need a key.
 * Every alias and every spread of a fragment counts, but fields excluded by @skip or @include don't.
 */
export function createRequestCost(schema: GraphQLSchema): (operation: CostedOperation) => number {
  /** Whether no field counts, regardless of the variables. There are never more entries than documents in the cache. */
  const publicOperations = new WeakMap<OperationDefinitionNode, boolean>();
  const isPublic = (document: DocumentNode, operation: OperationDefinitionNode): boolean => {
    const known = publicOperations.get(operation);
    if (known !== undefined) return known;
    const found = costOf(operation.selectionSet, scopeOf(schema, document, operation, null, needsKey)) === 0;
    publicOperations.set(operation, found);
    return found;
  };
  return (args) => {
    const operation = getOperationAST(args.document, args.operationName);
    if (operation == null || isPublic(args.document, operation)) return 0;
    return rootFields(schema, args, needsKey) ?? 0;
  };
}

/** Fields that count only with a key are free without one, because the limit belongs to an account. */
const needsKey: Counts = (field) => field?.extensions.needsKey === true || field?.extensions.countsWithKey === true;

/**
 * Returns the number of root fields that count, or null if the variables don't match their definitions, in which case
 * nothing runs.
 */
export function rootFields(schema: GraphQLSchema, args: CostedOperation, counts: Counts): number | null {
  const { document, operationName, variableValues } = args;
  const operation = getOperationAST(document, operationName);
  if (operation == null) return null;
  // Includes the defaults that the operation defines for its variables.
  const definitions = operation.variableDefinitions ?? [];
  const { coerced } = getVariableValues(schema, definitions, variableValues ?? {}, { maxErrors: 1 });
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
  /** Null if unknown, in which case no field is left out. */
  variables: Variables | null;
  /**
   * Costs of visited fragments. Each fragment is evaluated only once, no matter how often fragments spread each other.
   */
  costs: Map<string, number>;
}

/** The recursion ends because validation has rejected fragments that spread themselves. */
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

import {
  coerceInputValue,
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLError,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  Kind,
  type NamedTypeNode,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { MAX_REQUEST_ERRORS } from './graphql-errors.js';

/** Matches GraphQL's messages about non-numeric values, and about fractions for an Int. */
const NUMBER_REFUSED = /\b(?:Int|Float) cannot represent /;

/** An argument, or a field of an input object. */
interface Taker {
  name: string;
  type: GraphQLInputType;
  extensions: { field?: unknown };
}

/**
 * Adds the field's name and bounds to errors about literal numbers of the wrong kind, as in errors about values that
 * are out of bounds.
 */
export function nameBounds(schema: GraphQLSchema, document: DocumentNode, errors: readonly GraphQLError[]): void {
  for (const error of errors) {
    if (NUMBER_REFUSED.test(error.message)) setBounds(error, takerOf(schema, document, error.nodes?.[0]));
  }
}

/** Does the same as `nameBounds` for the values of variables. */
export function nameBoundsOfVariables(
  schema: GraphQLSchema,
  { document, variableValues }: ExecutionArgs,
  errors: readonly GraphQLError[],
): void {
  if (!errors.some(({ message }) => NUMBER_REFUSED.test(message))) return;
  const refusedIn = new Map<VariableDefinitionNode, Path[]>();
  for (const error of errors) {
    const [node] = error.nodes ?? [];
    if (node?.kind !== Kind.VARIABLE_DEFINITION) continue;
    const left = refusedIn.get(node) ?? refusedPaths(schema, node, variableValues ?? {});
    refusedIn.set(node, left);
    // GraphQL reports the errors in the same order. Their messages can't be parsed, because the values they quote may
    // contain any text.
    const path = left.shift();
    if (path === undefined || !NUMBER_REFUSED.test(error.message)) continue;
    const names = path.filter((key) => typeof key === 'string');
    setBounds(error, names.length === 0 ? takerOf(schema, document, node) : takerAt(schema, node, names));
  }
}

class EnoughFaults extends Error {}

type Path = readonly (string | number)[];

function refusedPaths(schema: GraphQLSchema, node: VariableDefinitionNode, values: Record<string, unknown>): Path[] {
  const type = typeFromAST(schema, node.type as NamedTypeNode);
  const paths: Path[] = [];
  if (!isInputType(type)) return paths;
  try {
    coerceInputValue(values[node.variable.name.value], type, (path) => {
      // A variable may have thousands of errors, each of which takes time. Only as many as can be reported are
      // processed.
      if (paths.push(path) >= MAX_REQUEST_ERRORS) throw new EnoughFaults();
    });
  } catch (error) {
    if (!(error instanceof EnoughFaults)) throw error;
  }
  return paths;
}

function takerAt(schema: GraphQLSchema, node: VariableDefinitionNode, names: readonly string[]): Taker | undefined {
  let type: GraphQLNamedType | undefined = getNamedType(typeFromAST(schema, node.type as NamedTypeNode));
  let taker: Taker | undefined;
  for (const name of names) {
    taker = isInputObjectType(type) ? type.getFields()[name] : undefined;
    type = taker && getNamedType(taker.type);
  }
  return taker;
}

function setBounds(error: GraphQLError, taker: Taker | undefined): void {
  const { must } = (taker?.extensions.field ?? {}) as { must?: string };
  if (taker !== undefined && must !== undefined) error.message = `${taker.name} must be ${must}`;
}

/** Returns the argument or field that receives a literal value or a variable. */
function takerOf(schema: GraphQLSchema, document: DocumentNode, wanted: unknown): Taker | undefined {
  const info = new TypeInfo(schema);
  let found: Taker | undefined;
  const name = (wanted as VariableDefinitionNode | undefined)?.variable?.name.value;
  const isWanted = (value: ValueNode) =>
    value === wanted || (name !== undefined && value.kind === Kind.VARIABLE && value.name.value === name);
  const within = (value: ValueNode): boolean =>
    isWanted(value) || (value.kind === Kind.LIST && value.values.some(within));
  visit(
    document,
    visitWithTypeInfo(info, {
      Argument: ({ value }) => {
        if (found === undefined && within(value)) found = info.getArgument() ?? undefined;
      },
      ObjectField: ({ name: field, value }) => {
        const parent = getNamedType(info.getParentInputType() ?? undefined);
        if (found === undefined && within(value) && isInputObjectType(parent)) found = parent.getFields()[field.value];
      },
    }),
  );
  return found;
}

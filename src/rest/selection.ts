import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isEnumType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';
import { required } from '../std/required.js';
import { SPELLING } from './routes.js';

/** A field in a prepared document, with its response key, its definition and the fields selected below it. */
export interface Selected {
  key: string;
  definition: GraphQLField<unknown, unknown>;
  type: GraphQLOutputType;
  children: Selected[];
}

/** Returns a prepared document's only root field. */
export function rootOf(schema: GraphQLSchema, document: DocumentNode): Selected {
  const { selectionSet } = required(getOperationAST(document), 'operation');
  const [root] = selectionsOf(rootTypeOf(schema, document), selectionSet);
  return required(root, 'root field');
}

/** Returns the type of a document's root field's parent: Query or Mutation. */
export function rootTypeOf(schema: GraphQLSchema, document: DocumentNode): GraphQLObjectType {
  const { operation } = required(getOperationAST(document), 'operation');
  return required(schema.getRootType(operation), 'root type');
}

/** Returns the selected field with this response key. */
export function childOf({ children }: Selected, key: string): Selected {
  return required(
    children.find((child) => child.key === key),
    `field ${key}`,
  );
}

function selectionsOf(parent: GraphQLObjectType, selectionSet: SelectionSetNode | undefined): Selected[] {
  const nodes = (selectionSet?.selections ?? []) as readonly FieldNode[];
  return nodes.map((node) => {
    const definition = required(parent.getFields()[node.name.value], 'definition of a field');
    const named = getNamedType(definition.type);
    return {
      key: (node.alias ?? node.name).value,
      definition,
      type: definition.type,
      children: isObjectType(named) ? selectionsOf(named, node.selectionSet) : [],
    };
  });
}

/** Returns the REST spelling of an enum's values, by value. Returns undefined for any other type. */
export function spellingOf(type: GraphQLNamedType): Readonly<Record<string, string>> | undefined {
  if (!isEnumType(type)) return undefined;
  return SPELLING[type.name] ?? Object.fromEntries(type.getValues().map(({ name }) => [name, name.toLowerCase()]));
}

/** Returns the type without its non-null wrapper, and whether it is nullable. */
export function unwrapNonNull(type: GraphQLOutputType): { inner: GraphQLOutputType; nullable: boolean } {
  return type instanceof GraphQLNonNull ? { inner: type.ofType, nullable: false } : { inner: type, nullable: true };
}

/** Returns a list's element type, or null for any other type. */
export function elementOf(type: GraphQLOutputType): GraphQLOutputType | null {
  const { inner } = unwrapNonNull(type);
  return inner instanceof GraphQLList ? inner.ofType : null;
}

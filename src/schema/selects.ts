import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/** Whether the operation selects this field of the root field's result, directly or through fragments. */
export function selects({ fieldNodes, fragments }: GraphQLResolveInfo, name: string): boolean {
  const isIn = ({ selections }: SelectionSetNode): boolean =>
    selections.some((node) => {
      if (node.kind === Kind.FIELD) return node.name.value === name;
      if (node.kind === Kind.INLINE_FRAGMENT) return isIn(node.selectionSet);
      return isIn(fragments[node.name.value]!.selectionSet);
    });
  return fieldNodes.some(({ selectionSet }) => selectionSet !== undefined && isIn(selectionSet));
}

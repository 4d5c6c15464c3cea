import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';
import { required } from '../std/required.js';

/** Whether the operation selects this field of the root field's result, directly or through fragments. */
export function selects({ fieldNodes, fragments }: GraphQLResolveInfo, name: string): boolean {
  const isIn = ({ selections }: SelectionSetNode): boolean =>
    selections.some((node) => {
      if (node.kind === Kind.FIELD) return node.name.value === name;
      if (node.kind === Kind.INLINE_FRAGMENT) return isIn(node.selectionSet);
      return isIn(required(fragments[node.name.value], 'fragment').selectionSet);
    });
  return fieldNodes.some(({ selectionSet }) => selectionSet !== undefined && isIn(selectionSet));
}

import {
  defaultFieldResolver,
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

/**
 * Counts the values in a response list by list as they are resolved. The list that exceeds the operation's `mostOf`
 * limit fails with `tooMany`. Wraps the schema's list resolvers. Each subscription event counts as its own response.
 */
export function countValues(
  schema: GraphQLSchema,
  { mostOf, tooMany }: { mostOf(info: GraphQLResolveInfo): number; tooMany(info: GraphQLResolveInfo): Error },
): void {
  /** Number of values counted in the current response, by its operation's context. */
  const counted = new WeakMap<object, { event: unknown; values: number }>();
  const sizes = new Sizes();
  const count = (list: unknown, context: object, info: GraphQLResolveInfo): unknown => {
    if (!Array.isArray(list)) return list;
    const known = counted.get(context);
    const before = known !== undefined && known.event === info.rootValue ? known.values : 0;
    const values = before + list.length * sizes.ofEntry(info);
    counted.set(context, { event: info.rootValue, values });
    if (values > mostOf(info)) throw tooMany(info);
    return list;
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      if (!isListType(getNullableType(field.type))) continue;
      const { resolve = defaultFieldResolver } = field;
      field.resolve = (source, args, context, info) => {
        const list: unknown = resolve(source, args, context, info);
        return isPromise(list)
          ? Promise.resolve(list).then((found) => count(found, context, info))
          : count(list, context, info);
      };
    }
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

/**
 * Computes the size of a list entry, which includes everything below it except the entries of nested lists. Those are
 * counted separately.
 */
class Sizes {
  /** There are never more entries than documents in the cache. */
  readonly #known = new WeakMap<FieldNode, { nodes: readonly FieldNode[]; size: number }>();

  ofEntry(info: GraphQLResolveInfo): number {
    const { fieldNodes, returnType } = info;
    const known = this.#known.get(fieldNodes[0]!);
    if (known !== undefined && isSame(known.nodes, fieldNodes)) return known.size;
    const size = sizeOf(fieldNodes, getNamedType(returnType), info);
    this.#known.set(fieldNodes[0]!, { nodes: fieldNodes, size });
    return size;
  }
}

interface Selected {
  parent: GraphQLNamedType;
  nodes: FieldNode[];
}

function sizeOf(nodes: readonly FieldNode[], type: GraphQLNamedType, info: GraphQLResolveInfo): number {
  // A name that is selected repeatedly occurs only once in the response.
  const selected = new Map<string, Selected>();
  const spread = new Set<string>();
  for (const { selectionSet } of nodes) {
    if (selectionSet !== undefined) collect(selectionSet, type, { info, selected, spread });
  }
  let size = 1;
  for (const { parent, nodes: fields } of selected.values()) {
    const field =
      isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[fields[0]!.name.value] : undefined;
    const isOne = field === undefined || isListType(getNullableType(field.type));
    size += isOne ? 1 : sizeOf(fields, getNamedType(field.type), info);
  }
  return size;
}

interface Collecting {
  info: GraphQLResolveInfo;
  selected: Map<string, Selected>;
  /** Names of the fragments whose fields have been collected. */
  spread: Set<string>;
}

/** Collects the selected fields. For an interface, the fields of all its types are counted together. */
function collect({ selections }: SelectionSetNode, parent: GraphQLNamedType, collecting: Collecting): void {
  const { info, selected, spread } = collecting;
  const typeOf = (name: string | undefined) => (name === undefined ? parent : info.schema.getType(name)!);
  for (const node of selections) {
    if (node.kind === Kind.INLINE_FRAGMENT) {
      collect(node.selectionSet, typeOf(node.typeCondition?.name.value), collecting);
    } else if (node.kind === Kind.FRAGMENT_SPREAD) {
      if (spread.has(node.name.value)) continue;
      spread.add(node.name.value);
      const { typeCondition, selectionSet } = info.fragments[node.name.value]!;
      collect(selectionSet, typeOf(typeCondition.name.value), collecting);
    } else {
      const key = (node.alias ?? node.name).value;
      const others = selected.get(key);
      if (others === undefined) selected.set(key, { parent, nodes: [node] });
      else others.nodes.push(node);
    }
  }
}

function isSame(one: readonly FieldNode[], other: readonly FieldNode[]): boolean {
  return one.length === other.length && one.every((node, index) => node === other[index]);
}

import {
  type ArgumentNode,
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLNamedType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
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

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;
type Variables = Readonly<Record<string, unknown>>;
type Field = GraphQLField<unknown, unknown>;
/** Decides whether a root field counts. Called with undefined for unknown fields, in documents that are invalid. */
type Counts = (field: Field | undefined) => boolean;

/** One evaluation of a measured selection. */
interface Evaluation {
  /** Null if unknown, in which case no field is left out. */
  variables: Variables | null;
  /** Results for fragments. Each is evaluated only once, no matter how often fragments spread each other. */
  known: Map<string, number>;
}

/** A measured part of a document. Variables determine the rest, so it is evaluated for each request. */
interface Measured {
  /** Nesting depth of fields. */
  depth: number;
  /** Counts the selected root fields. A fragment's fields count every time it is spread. */
  fields(counts: Counts, evaluation: Evaluation): number;
  /**
   * Counts the values in the response. `page` is the length that a field sets for the list below it, as a connection
   * does for its edges.
   */
  values(page: number | null, evaluation: Evaluation): number;
}

const NOTHING: Measured = { depth: 0, fields: () => 0, values: () => 0 };

/** Fields that count only with a key are free without one, because the limit belongs to an account. */
const needsKey: Counts = (field) => field?.extensions.needsKey === true || field?.extensions.countsWithKey === true;

/** Holds the figures by which the rules evaluate an operation. */
export class OperationMeasure {
  readonly operation: OperationDefinitionNode;
  readonly #measured: Measured;
  #mostValues: number | undefined;
  #mostCost: number | undefined;

  constructor(operation: OperationDefinitionNode, measured: Measured) {
    this.operation = operation;
    this.#measured = measured;
  }

  get depth(): number {
    return this.#measured.depth;
  }

  /** Returns the number of root fields. Without variables, none of them is left out. */
  rootFields(variables: Variables | null): number {
    return this.#measured.fields(() => true, evaluation(variables));
  }

  /**
   * Returns the cost of a request, which is the number of root fields that need a key. Every alias and every spread of
   * a fragment counts, but fields excluded by @skip or @include don't.
   */
  cost(variables: Variables): number {
    this.#mostCost ??= this.#measured.fields(needsKey, evaluation(null));
    return this.#mostCost === 0 ? 0 : this.#measured.fields(needsKey, evaluation(variables));
  }

  /**
   * Returns whether the response may contain more than `most` values if every page has the requested length. Fields
   * excluded by @skip and @include also count.
   */
  exceeds(most: number, variables: Variables): boolean {
    this.#mostValues ??= this.#measured.values(null, evaluation(this.#longestPages()));
    return this.#mostValues > most && this.#measured.values(null, evaluation(variables)) > most;
  }

  #longestPages(): Variables {
    const names = (this.operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
    return Object.fromEntries(names.map((name) => [name, Number.MAX_SAFE_INTEGER]));
  }
}

function evaluation(variables: Variables | null): Evaluation {
  return { variables, known: new Map() };
}

/** Measures operations, each of them only once, because Yoga caches its document. */
export class OperationMeasures {
  readonly #schema: GraphQLSchema;
  readonly #known = new WeakMap<DocumentNode, readonly OperationMeasure[]>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** Returns the measures of all operations in a document, which may be invalid. */
  all(document: DocumentNode): readonly OperationMeasure[] {
    const known = this.#known.get(document);
    if (known !== undefined) return known;
    const scope: Scope = { schema: this.#schema, fragments: fragmentsOf(document), measured: new Map() };
    const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    const measures = operations.map((operation) => {
      const root = this.#schema.getRootType(operation.operation);
      return new OperationMeasure(operation, ofSelections(operation.selectionSet, root ?? undefined, scope));
    });
    this.#known.set(document, measures);
    return measures;
  }

  /** Returns the measure of the operation to run, or null if the document has no such operation. */
  of({ document, operationName }: Pick<ExecutionArgs, 'document' | 'operationName'>): OperationMeasure | null {
    const wanted = getOperationAST(document, operationName);
    return this.all(document).find(({ operation }) => operation === wanted) ?? null;
  }
}

export function fragmentsOf(document: DocumentNode): Fragments {
  const definitions = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(definitions.map((node) => [node.name.value, node]));
}

interface Scope {
  schema: GraphQLSchema;
  fragments: Fragments;
  /** Measured fragments by name. Each is measured only once. */
  measured: Map<string, Measured>;
}

/** Measures a selection. In an invalid document, its type may be unknown. */
function ofSelections({ selections }: SelectionSetNode, parent: GraphQLNamedType | undefined, scope: Scope): Measured {
  const parts = selections.map((node) => ofNode(node, parent, scope));
  return {
    depth: Math.max(...parts.map(({ depth }) => depth)),
    fields: (counts, of) => parts.reduce((sum, part) => sum + part.fields(counts, of), 0),
    values: (page, of) => parts.reduce((sum, part) => sum + part.values(page, of), 0),
  };
}

function ofNode(node: SelectionNode, parent: GraphQLNamedType | undefined, scope: Scope): Measured {
  const measured = unconditional(node, parent, scope);
  if (node.directives === undefined || node.directives.length === 0) return measured;
  const fields: Measured['fields'] = (counts, of) => (isLeftOut(node, of) ? 0 : measured.fields(counts, of));
  return { ...measured, fields };
}

function isLeftOut(node: SelectionNode, { variables }: Evaluation): boolean {
  if (variables === null) return false;
  return (
    getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true ||
    getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if === false
  );
}

function unconditional(node: SelectionNode, parent: GraphQLNamedType | undefined, scope: Scope): Measured {
  if (node.kind === Kind.FIELD) return ofField(node, parent, scope);
  if (node.kind === Kind.FRAGMENT_SPREAD) return ofFragment(node.name.value, scope);
  const condition = node.typeCondition?.name.value;
  return ofSelections(node.selectionSet, condition === undefined ? parent : scope.schema.getType(condition), scope);
}

/** Measures a fragment. This runs before validation, so a fragment may be unknown or spread itself. */
function ofFragment(name: string, scope: Scope): Measured {
  const known = scope.measured.get(name);
  if (known !== undefined) return known;
  scope.measured.set(name, NOTHING);
  const fragment = scope.fragments.get(name);
  if (fragment === undefined) return NOTHING;
  const type = scope.schema.getType(fragment.typeCondition.name.value);
  const { depth, fields, values } = ofSelections(fragment.selectionSet, type, scope);
  const measured: Measured = {
    depth,
    fields: (counts, of) => once(name, of, () => fields(counts, of)),
    values: (page, of) => once(`${name} ${page}`, of, () => values(page, of)),
  };
  scope.measured.set(name, measured);
  return measured;
}

function once(key: string, { known }: Evaluation, compute: () => number): number {
  const result = known.get(key) ?? compute();
  known.set(key, result);
  return result;
}

function ofField(node: FieldNode, parent: GraphQLNamedType | undefined, scope: Scope): Measured {
  const field = fieldOf(parent, node.name.value);
  const type = field && getNamedType(field.type);
  const below = node.selectionSet === undefined ? NOTHING : ofSelections(node.selectionSet, type, scope);
  const fields: Measured['fields'] = (counts) => (counts(field) ? 1 : 0);
  const depth = 1 + below.depth;
  // Validation rejects the document, so its values are never counted.
  if (field === undefined) return { ...NOTHING, depth, fields };
  const pageOf = pageOfField(node, field);
  const values: Measured['values'] = isListType(getNullableType(field.type))
    ? (page, of) => (pageOf(of) ?? page ?? assumedLength(field)) * (1 + below.values(null, of))
    : (_page, of) => ownValues(field) + below.values(pageOf(of), of);
  return { depth, fields, values };
}

function fieldOf(parent: GraphQLNamedType | undefined, name: string): Field | undefined {
  const fields = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields() : {};
  return fields[name] ?? META_FIELDS.find((field) => field.name === name);
}

/** Returns how many values a field counts as, without those below it. */
function ownValues({ extensions }: Field): number {
  return typeof extensions.mostValues === 'number' ? extensions.mostValues : 1;
}

/** Returns the assumed length of a list without pages, which is the maximum in the field's `mostEntries` extension. */
function assumedLength({ type, extensions }: Field): number {
  if (typeof extensions.mostEntries === 'number') return extensions.mostEntries;
  return isIntrospectionType(getNamedType(type)) ? INTROSPECTION_LIST_SIZE : LIST_SIZE;
}

/**
 * Returns a function that finds the page length specified by the field's arguments. It returns null if the field has no
 * such argument.
 */
function pageOfField({ arguments: given = [] }: FieldNode, field: Field): (of: Evaluation) => number | null {
  const own = field.extensions.length as { argument: string; usual: number; most: number } | undefined;
  const names = own === undefined ? SIZE_ARGUMENTS : [own.argument];
  const { usual, most } = own ?? { usual: DEFAULT_PAGE, most: MAX_PAGE };
  if (!field.args.some(({ name }) => names.includes(name))) return () => null;
  const sizes = given.filter(({ name }) => names.includes(name.value));
  return ({ variables }) => Math.min(longestOf(sizes, variables) ?? usual, most);
}

function longestOf(sizes: readonly ArgumentNode[], variables: Variables | null): number | null {
  const lengths = sizes
    .map(({ value }) => valueFromASTUntyped(value, variables))
    .filter((length) => typeof length === 'number');
  return lengths.length === 0 ? null : Math.max(...lengths, 0);
}

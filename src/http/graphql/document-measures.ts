import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  Lexer,
  type SelectionNode,
  type SelectionSetNode,
  Source,
  TokenKind,
  visit,
} from 'graphql';

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

export function fragmentsOf(document: DocumentNode): Fragments {
  const definitions = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(definitions.map((node) => [node.name.value, node]));
}

const OPENING: readonly TokenKind[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const CLOSING: readonly TokenKind[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Returns the nesting depth of brackets of any kind within the first `maxTokens` tokens. */
export function nestingOf(text: string, maxTokens: number): number {
  const lexer = new Lexer(new Source(text));
  let [depth, deepest] = [0, 0];
  for (let tokens = 0; tokens < maxTokens; tokens += 1) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) break;
    if (OPENING.includes(kind)) depth += 1;
    if (CLOSING.includes(kind)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Returns the nesting depth of fields. */
export function depthOf(selectionSet: SelectionSetNode, fragments: Fragments): number {
  const fold: Fold = {
    fragments,
    known: new Map(),
    ofField: (field) => 1 + (field.selectionSet === undefined ? 0 : folded(field.selectionSet, fold)),
    combine: (one, other) => Math.max(one, other),
  };
  return folded(selectionSet, fold);
}

/** Returns the number of root fields. A fragment's fields count every time it is spread. */
export function rootFieldsOf(selectionSet: SelectionSetNode, fragments: Fragments): number {
  return folded(selectionSet, {
    fragments,
    known: new Map(),
    ofField: () => 1,
    combine: (one, other) => one + other,
  });
}

export function directivesOf(document: DocumentNode): number {
  let count = 0;
  visit(document, {
    Directive: () => {
      count += 1;
    },
  });
  return count;
}

interface Fold {
  fragments: Fragments;
  /**
   * Results for visited fragments. Each fragment is measured only once, no matter how often fragments spread each
   * other.
   */
  known: Map<string, number>;
  ofField(field: FieldNode): number;
  combine(one: number, other: number): number;
}

function folded(selectionSet: SelectionSetNode, fold: Fold): number {
  return selectionSet.selections.reduce((sum, node) => fold.combine(sum, ofNode(node, fold)), 0);
}

function ofNode(node: SelectionNode, fold: Fold): number {
  if (node.kind === Kind.FIELD) return fold.ofField(node);
  if (node.kind === Kind.INLINE_FRAGMENT) return folded(node.selectionSet, fold);
  return ofFragment(node.name.value, fold);
}

/** Measures a fragment. This runs before validation, so a fragment may be unknown or spread itself. */
function ofFragment(name: string, fold: Fold): number {
  const known = fold.known.get(name);
  if (known !== undefined) return known;
  fold.known.set(name, 0);
  const fragment = fold.fragments.get(name);
  const measured = fragment === undefined ? 0 : folded(fragment.selectionSet, fold);
  fold.known.set(name, measured);
  return measured;
}

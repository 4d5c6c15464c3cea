/** Names that are counted by themselves, of callers with a key and of those without. */
const MAX_KEYED = 100;
const MAX_UNKEYED = 30;
/** As in ids and keys: a caller may write one into a name. */
const ID_IN_NAME = /[0-9a-f]{8}/i;

/** Labels for the names of operations, which callers choose: the first get one of their own, as long as there is room. */
export class OperationNames {
  readonly #labels = new Set<string>();
  #unkeyed = 0;

  labelOf(name: string | null, isKeyed: boolean): string {
    if (name === null) return 'anonymous';
    if (this.#labels.has(name)) return name;
    const isFull = isKeyed ? this.#labels.size >= MAX_KEYED + MAX_UNKEYED : this.#unkeyed >= MAX_UNKEYED;
    if (isFull || ID_IN_NAME.test(name)) return 'other';
    this.#labels.add(name);
    if (!isKeyed) this.#unkeyed += 1;
    return name;
  }
}

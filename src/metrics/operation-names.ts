/** Maximum number of operation names with their own label, for callers with and without a key. */
const MAX_KEYED = 100;
const MAX_UNKEYED = 30;
/** Matches an id or a key, which a caller may include in a name. */
const ID_IN_NAME = /[0-9a-f]{8}/i;

/**
 * Maps operation names to metric labels. Callers can send any name, so only the first ones, up to a limit, get a label
 * of their own.
 */
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

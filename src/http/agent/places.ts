/** Limits concurrent work per client network. */
export class Places {
  readonly #perNetwork: number;
  readonly #taken = new Map<string, number>();

  constructor(perNetwork: number) {
    this.#perNetwork = perNetwork;
  }

  /** Runs the work in one of the network's slots. Returns null if all of them are taken. */
  run<T>(network: string, work: () => Promise<T>): Promise<T> | null {
    const taken = this.#taken.get(network) ?? 0;
    if (taken >= this.#perNetwork) return null;
    this.#taken.set(network, taken + 1);
    return work().finally(() => {
      const left = this.#taken.get(network)! - 1;
      if (left > 0) this.#taken.set(network, left);
      else this.#taken.delete(network);
    });
  }
}

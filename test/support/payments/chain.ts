/** A coin's network as the test processor sees it. Amounts of coins are decimal strings. */
export interface Chain {
  newAddress(): Promise<string>;
  /** Sends coins and returns the transaction. */
  pay(address: string, coins: string): Promise<string>;
  mine(blocks: number): Promise<void>;
  received(address: string): Promise<Received[]>;
  close(): Promise<void>;
}

export interface Received {
  transaction: string;
  coins: string;
  /** Number of confirmations, which is 0 if no block contains the payment. */
  confirmations: number;
}

/** A network whose payments the test sets, for tests of signatures, races and crashes that need no real chain. */
export class WrittenChain implements Chain {
  readonly #paid: { address: string; transaction: string; coins: string; minedAt: number | null }[] = [];
  #height = 0;
  #payments = 0;
  #addresses = 0;

  async newAddress(): Promise<string> {
    this.#addresses += 1;
    return `written-address-${this.#addresses}`;
  }

  async pay(address: string, coins: string): Promise<string> {
    this.#payments += 1;
    const transaction = `written-transaction-${this.#payments}-${address.slice(-6)}`;
    this.#paid.push({ address, transaction, coins, minedAt: null });
    return transaction;
  }

  /** Drops a transaction that no block contains, as if another one had spent its coins. */
  replace(transaction: string): void {
    const at = this.#paid.findIndex((payment) => payment.transaction === transaction && payment.minedAt === null);
    this.#paid.splice(at, 1);
  }

  async mine(blocks: number): Promise<void> {
    for (const payment of this.#paid) payment.minedAt ??= this.#height + 1;
    this.#height += blocks;
  }

  async received(address: string): Promise<Received[]> {
    return this.#paid
      .filter((payment) => payment.address === address)
      .map(({ transaction, coins, minedAt }) => ({
        transaction,
        coins,
        confirmations: minedAt === null ? 0 : this.#height - minedAt + 1,
      }));
  }

  async close(): Promise<void> {}
}

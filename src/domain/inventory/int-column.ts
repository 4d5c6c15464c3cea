const INITIAL_CAPACITY = 8;
const GROWTH = 1.5;

/** A list of integers that can grow and uses 4 bytes per integer. */
export class IntColumn {
  /** The values, followed by unused capacity. */
  values = new Int32Array(INITIAL_CAPACITY);
  length = 0;

  /** Returns the integer at a position, which must be less than `length`. */
  at(place: number): number {
    return this.values[place]!;
  }

  insert(place: number, value: number): void {
    if (this.length === this.values.length) this.#grow();
    this.values.copyWithin(place + 1, place, this.length);
    this.values[place] = value;
    this.length += 1;
  }

  remove(place: number): void {
    this.values.copyWithin(place, place + 1, this.length);
    this.length -= 1;
  }

  #grow(): void {
    const longer = new Int32Array(Math.ceil(this.values.length * GROWTH));
    longer.set(this.values);
    this.values = longer;
  }
}

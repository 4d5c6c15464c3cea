import { Counter, type Registry } from 'prom-client';

interface Options<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  registry: Registry;
}

/**
 * A counter for events that occur with every request. The library's own counter takes a microsecond, mostly for
 * checking labels that come from our own code.
 */
export class Tally<Label extends string> {
  readonly #counts = new Map<string, { labels: Record<Label, string>; value: number }>();
  readonly #labelNames: readonly Label[];

  constructor({ name, help, labelNames, registry }: Options<Label>) {
    this.#labelNames = labelNames;
    const counts = this.#counts;
    new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of counts.values()) this.inc(labels, value);
      },
    });
  }

  /** Adds to the counter. `values` must be in the order of the label names. */
  add(by: number, ...values: string[]): void {
    const key = values.join('\n');
    const known = this.#counts.get(key);
    if (known !== undefined) known.value += by;
    else {
      const labels = Object.fromEntries(this.#labelNames.map((name, index) => [name, values[index]]));
      this.#counts.set(key, { labels: labels as Record<Label, string>, value: by });
    }
  }
}

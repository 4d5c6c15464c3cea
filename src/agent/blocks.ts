const SIZES = [1, 2, 4, 8];

/**
 * Counts the blocks of each size that these GPUs form: aligned blocks of 1, 2, 4 and 8 GPUs, and one block with all
 * GPUs of a model. `models` lists the GPUs' models in placement order. The result is only shown to the operator,
 * because the gateway decides which blocks are sold.
 */
export function blockCounts(models: readonly string[]): Map<number, number> {
  const runs = models.flatMap((model, place) => {
    if (place > 0 && models[place - 1] === model) return [];
    const end = models.findIndex((other, later) => later > place && other !== model);
    return [(end < 0 ? models.length : end) - place];
  });
  const sizes = [...new Set([...SIZES, ...runs])].sort((one, other) => one - other);
  const counted = sizes.map((size) => {
    const count = runs.reduce(
      (sum, run) => sum + (SIZES.includes(size) ? Math.floor(run / size) : Number(run === size)),
      0,
    );
    return [size, count] as const;
  });
  return new Map(counted.filter(([, count]) => count > 0));
}

/** Returns a description such as "4 of 1, 2 of 2, 1 of 4". */
export function describeBlocks(models: readonly string[]): string {
  return [...blockCounts(models)].map(([size, count]) => `${count} of ${size}`).join(', ');
}

interface Machine {
  gpu: string;
  numGpus: number;
}

/** Moves the first machine of each kind to the front, so that a list doesn't begin with many equal machines. */
export function kindsFirst<Row extends Machine>(machines: readonly Row[]): Row[] {
  const isFirst = (one: Row, at: number) =>
    at === machines.findIndex(({ gpu, numGpus }) => gpu === one.gpu && numGpus === one.numGpus);
  return [...new Set([...machines.filter(isFirst), ...machines])];
}

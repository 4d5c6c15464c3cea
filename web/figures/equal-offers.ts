/** The parts of an offer that a list shows, apart from the hardware around its GPUs. */
interface Listed {
  gpu: string;
  numGpus: number;
  region: string;
  nvlink: boolean;
  demo: boolean;
  hasAgent: boolean;
  preemptible: boolean;
  pricePerHour: { onDemand: number };
}

export interface EqualOffers<Row> {
  /** Identifies the group, also after its offers have changed. */
  key: string;
  offers: readonly [Row, ...Row[]];
}

/**
 * Groups offers with the same model, number of GPUs, price, location and kind. Groups keep the order of their first
 * offers, and the offers of a group keep theirs.
 */
export function equalOffers<Row extends Listed>(offers: readonly Row[]): EqualOffers<Row>[] {
  const groups = new Map<string, [Row, ...Row[]]>();
  for (const offer of offers) {
    const { gpu, numGpus, region, nvlink, demo, hasAgent, preemptible, pricePerHour } = offer;
    const key = [gpu, numGpus, region, pricePerHour.onDemand, nvlink, demo, hasAgent, preemptible].join();
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [offer]);
    else known.push(offer);
  }
  return [...groups].map(([key, equal]) => ({ key, offers: equal }));
}

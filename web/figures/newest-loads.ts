interface Sample<Load> {
  instanceId: string;
  load: Load;
}

/** Adds samples to those known by instance. A response may be older than the events received since its query. */
export function newestLoads<Load extends { at: string }>(
  known: ReadonlyMap<string, Load>,
  samples: readonly Sample<Load>[],
): ReadonlyMap<string, Load> {
  const newest = new Map(known);
  for (const { instanceId, load } of samples) {
    const before = newest.get(instanceId);
    if (before === undefined || Date.parse(load.at) >= Date.parse(before.at)) newest.set(instanceId, load);
  }
  return newest;
}

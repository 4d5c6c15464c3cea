import { cpuSecondsOf } from './programs.mjs';

/**
 * Runs both sides in turn, after a warm-up of each. A side is `{ pid, run(seconds) }`. Gives for each side the figures of
 * every round, and of both the ratio of the medians with the least and the greatest ratio of a round.
 */
export async function measure({ subject, peer }, { seconds, rounds }) {
  for (const side of [subject, peer]) await side.run(seconds);
  const taken = [];
  for (let round = 0; round < rounds; round += 1) {
    taken.push({ subject: await measureSide(subject, seconds), peer: await measureSide(peer, seconds) });
  }
  const ratios = taken.map((round) => round.subject.perSecond / round.peer.perSecond);
  const of = (side, figure) => median(taken.map((round) => round[side][figure]));
  return {
    ratio: of('subject', 'perSecond') / of('peer', 'perSecond'),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    /** How the sides compare in CPU time for a request: another program on the machine changes it little. */
    cpuRatio: of('peer', 'cpuMicros') / of('subject', 'cpuMicros'),
    subject: summary(of, 'subject'),
    peer: summary(of, 'peer'),
    rounds: taken,
  };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The value that the share `part` of the sorted ones does not exceed. */
export function percentile(sorted, part) {
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)];
}

async function measureSide({ pid, run }, seconds) {
  const cpuBefore = cpuSecondsOf(pid);
  const startedAt = performance.now();
  const { perSecond, latenciesMs, generatorBusy = 0 } = await run(seconds);
  const took = (performance.now() - startedAt) / 1_000;
  const cpu = cpuSecondsOf(pid) - cpuBefore;
  const sorted = Float64Array.from(latenciesMs ?? []).sort();
  return {
    perSecond,
    /** Share of its core that the side's process took, and that the load generator took of the other. */
    busy: cpu / took,
    generatorBusy,
    cpuMicros: (cpu / took / perSecond) * 1_000_000,
    ...(sorted.length > 0 && { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }),
  };
}

function summary(of, side) {
  return {
    perSecond: of(side, 'perSecond'),
    cpuMicros: of(side, 'cpuMicros'),
    busy: of(side, 'busy'),
    generatorBusy: of(side, 'generatorBusy'),
  };
}

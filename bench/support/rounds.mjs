import { cpuSecondsOf } from './programs.mjs';

/**
 * Within a round, the sides alternate after this many seconds, because the machine's own speed changes from second to
 * second.
 */
const TURN_SECONDS = 0.5;
/** Warm-up time. V8 compiles hot code in the background for about this long, on the same core. */
const WARM_UP_SECONDS = 8;

/**
 * Warms up both sides and then runs them in turn. A side is `{ pid, run(seconds) }`. Returns the figures for each side
 * and round, the ratio of the sides' medians, and the lowest and highest ratio of any round.
 */
export async function measure({ subject, peer }, { seconds, rounds }) {
  for (const side of [subject, peer]) await side.run(WARM_UP_SECONDS);
  const taken = [];
  for (let round = 0; round < rounds; round += 1) {
    const turns = { subject: [], peer: [] };
    for (let turn = 0; turn < Math.max(seconds / TURN_SECONDS, 1); turn += 1) {
      const length = Math.min(seconds, TURN_SECONDS);
      // Which side goes first alternates between turns.
      for (const side of turn % 2 === 0 ? ['subject', 'peer'] : ['peer', 'subject']) {
        turns[side].push(await takeTurn(side === 'subject' ? subject : peer, length));
      }
    }
    taken.push({ subject: figuresOf(turns.subject), peer: figuresOf(turns.peer) });
  }
  const ratios = taken.map((round) => round.subject.perSecond / round.peer.perSecond);
  const of = (side, figure) => median(taken.map((round) => round[side][figure]));
  return {
    ratio: of('subject', 'perSecond') / of('peer', 'perSecond'),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    /** Ratio of the CPU times per request, which other programs on the machine hardly affect. */
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

/** Returns the value that the fraction `part` of the sorted values doesn't exceed. */
export function percentile(sorted, part) {
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)];
}

async function takeTurn({ pid, run }, seconds) {
  const cpuBefore = cpuSecondsOf(pid);
  const startedAt = performance.now();
  const { perSecond, latenciesMs = [], generatorBusy = 0 } = await run(seconds);
  const took = (performance.now() - startedAt) / 1_000;
  return { perSecond, latenciesMs, generatorBusy, took, cpu: cpuSecondsOf(pid) - cpuBefore };
}

/** Combines the figures of a round's turns, which have equal lengths. */
function figuresOf(turns) {
  const sum = (figure) => turns.reduce((total, turn) => total + turn[figure], 0);
  const perSecond = sum('perSecond') / turns.length;
  const busy = sum('cpu') / sum('took');
  const sorted = Float64Array.from(turns.flatMap(({ latenciesMs }) => latenciesMs)).sort();
  return {
    perSecond,
    /** Share of its core that the side's process used, and share of the other core that the load generator used. */
    busy,
    generatorBusy: sum('generatorBusy') / turns.length,
    cpuMicros: (busy / perSecond) * 1_000_000,
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

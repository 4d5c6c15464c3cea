import type { InstanceStatus } from './lifecycle.js';
import { overlaps } from './slices.js';
import { type Instant, latest } from './time.js';

/** Seconds without a heartbeat after which a machine counts as unreachable. */
export const UNREACHABLE_AFTER_SECONDS = 30n;

/** What a container was last seen doing. */
export type ContainerPhase =
  | 'WAITING'
  | 'PULLING'
  | 'STARTING'
  | 'RUNNING'
  | 'STOPPING'
  | 'STOPPED'
  | 'FAILED'
  | 'ERASED'
  | 'EXITED'
  | 'RESTORING'
  | 'SAVING';

/** A container as it is known, with the rental that it is for. */
export interface KnownContainer {
  instanceId: string;
  status: InstanceStatus;
  /** Starts of the rental so far. */
  gpuIntervals: number;
  phase: ContainerPhase;
  /** The start that `phase` is of. */
  start: number;
  /** The newest start that the agent may have received; 0 for none: then nothing of it is on the machine. */
  toldStart: number;
  /** The GPUs that it has. */
  firstGpu: number;
  numGpus: number;
}

/** The desired phase of a container. Omits containers the agent never received. */
export type DesiredPhase = 'running' | 'stopped' | 'absent';

/**
 * What ought to be of each container of a host. One that is to run is held back while any container on its GPUs, its own
 * of the start before included, is not known to have ended: a GPU never has two, whatever was lost on the way, and how
 * long a start waited for its own account is known.
 */
export function desiredPhases<C extends KnownContainer>(containers: readonly C[]): Map<C, DesiredPhase> {
  const desired = new Map<C, DesiredPhase>();
  for (const container of containers) {
    const phase = desiredPhase(container, containers);
    if (phase !== null) desired.set(container, phase);
  }
  return desired;
}

function desiredPhase(container: KnownContainer, all: readonly KnownContainer[]): DesiredPhase | null {
  const { status, toldStart, gpuIntervals } = container;
  if (status === 'RUNNING') {
    const mayRun = toldStart === gpuIntervals || all.filter((other) => sharesGpu(container, other)).every(isAtRest);
    if (mayRun) return 'running';
    return toldStart === 0 ? null : 'stopped';
  }
  if (toldStart === 0) return null;
  return status === 'STOPPED' ? 'stopped' : 'absent';
}

function sharesGpu(one: KnownContainer, other: KnownContainer): boolean {
  return overlaps({ first: one.firstGpu, count: one.numGpus }, { first: other.firstGpu, count: other.numGpus });
}

/** Known not to run: never sent to the agent, or seen ended after its last start. */
function isAtRest({ phase, start, toldStart }: KnownContainer): boolean {
  return (
    toldStart === 0 ||
    (start >= toldStart &&
      (phase === 'STOPPED' || phase === 'FAILED' || phase === 'ERASED' || phase === 'EXITED' || phase === 'SAVING'))
  );
}

/** Seconds [from, to). */
export interface Stretch {
  from: Instant;
  to: Instant;
}

/** The part of `stretch` within `bounds`; null when there is none. */
export function within(stretch: Stretch, bounds: Stretch): Stretch | null {
  const from = latest(stretch.from, bounds.from);
  const to = stretch.to < bounds.to ? stretch.to : bounds.to;
  return from < to ? { from, to } : null;
}

/** What is left of a stretch without those that were given back before, in order of time. */
export function without(stretch: Stretch, given: readonly Stretch[]): Stretch[] {
  const left: Stretch[] = [];
  let { from } = stretch;
  for (const gap of [...given].sort((one, other) => (one.from < other.from ? -1 : 1))) {
    if (gap.to <= from || gap.from >= stretch.to) continue;
    if (gap.from > from) left.push({ from, to: gap.from });
    from = latest(from, gap.to);
  }
  if (from < stretch.to) left.push({ from, to: stretch.to });
  return left;
}

/** Where a report stands beside the newest one that is known. */
export interface ReportPlace {
  session: string;
  sequence: bigint;
}

/** A report of a past run of the agent, or one that another has overtaken. */
export function isLate(
  report: ReportPlace,
  known: { session: string | null; sequence: bigint; pastSessions: readonly string[] },
): boolean {
  if (report.session === known.session) return report.sequence <= known.sequence;
  return known.pastSessions.includes(report.session);
}

/**
 * Seconds without a heartbeat after which a host holds no lease of a volume any more. Agents stop what they run after 900
 * (docs/host-agent.md); stopping takes up to 300.
 */
export const LEASE_CUT_OFF_SECONDS = 1_200n;
/** Seconds that a gateway has to listen before it takes hosts as silent: while it was away, nobody was heard. */
const LISTENING_SECONDS = 60n;

/** Hosts whose last heartbeat is before this instant hold no lease any more; `since`: when the gateway began to listen. */
export function silentBefore(now: Instant, since: Instant): Instant {
  return now - since < LISTENING_SECONDS ? 0n : now - LEASE_CUT_OFF_SECONDS;
}

import type { InstanceStatus } from './lifecycle.js';
import { overlaps } from './slices.js';
import { type Instant, latest } from './time.js';

/** A machine counts as unreachable after this many seconds without a heartbeat. */
export const UNREACHABLE_AFTER_SECONDS = 30n;

/** The last observed phase of a container. */
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

/** The known state of a container and its rental. */
export interface KnownContainer {
  instanceId: string;
  status: InstanceStatus;
  /** Number of times the rental has been started so far. */
  gpuIntervals: number;
  phase: ContainerPhase;
  /** The start that `phase` refers to. */
  start: number;
  /**
   * The newest start that the agent may have received. 0 means that it has received none, so the container has left
   * nothing on the machine.
   */
  sentStart: number;
  /** The GPUs assigned to the container. */
  firstGpu: number;
  numGpus: number;
}

/** The phase that a container is supposed to be in. */
export type DesiredPhase = 'running' | 'stopped' | 'absent';

/**
 * Returns the desired phase of each of a host's containers, except those never sent to the agent. Before a container
 * can run, all containers on its GPUs, including its own previous start, must be known to have ended. A GPU therefore
 * never runs two containers, even if messages are lost, and it is known how long a start had to wait for a container of
 * its own account.
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
  const { status, sentStart, gpuIntervals } = container;
  if (status === 'RUNNING') {
    const mayRun = sentStart === gpuIntervals || all.filter((other) => sharesGpu(container, other)).every(isAtRest);
    if (mayRun) return 'running';
    return sentStart === 0 ? null : 'stopped';
  }
  if (sentStart === 0) return null;
  return status === 'STOPPED' ? 'stopped' : 'absent';
}

function sharesGpu(one: KnownContainer, other: KnownContainer): boolean {
  return overlaps({ first: one.firstGpu, count: one.numGpus }, { first: other.firstGpu, count: other.numGpus });
}

/**
 * Whether a container is known not to be running, either because it was never sent to the agent or because it was seen
 * to have ended after its last start.
 */
function isAtRest({ phase, start, sentStart }: KnownContainer): boolean {
  return (
    sentStart === 0 ||
    (start >= sentStart &&
      (phase === 'STOPPED' || phase === 'FAILED' || phase === 'ERASED' || phase === 'EXITED' || phase === 'SAVING'))
  );
}

/** A range of seconds, [from, to). */
export interface Stretch {
  from: Instant;
  to: Instant;
}

/** Returns the part of `stretch` that lies within `bounds`, or null if there is none. */
export function within(stretch: Stretch, bounds: Stretch): Stretch | null {
  const from = latest(stretch.from, bounds.from);
  const to = stretch.to < bounds.to ? stretch.to : bounds.to;
  return from < to ? { from, to } : null;
}

/** Returns the parts of a stretch that haven't been credited yet, in chronological order. */
export function without(stretch: Stretch, credited: readonly Stretch[]): Stretch[] {
  const left: Stretch[] = [];
  let { from } = stretch;
  for (const gap of [...credited].sort((one, other) => (one.from < other.from ? -1 : 1))) {
    if (gap.to <= from || gap.from >= stretch.to) continue;
    if (gap.from > from) left.push({ from, to: gap.from });
    from = latest(from, gap.to);
  }
  if (from < stretch.to) left.push({ from, to: stretch.to });
  return left;
}

/** A report's position among all reports from its host. */
export interface ReportPlace {
  session: string;
  sequence: bigint;
}

/** Whether a report comes from an earlier run of the agent or arrived after a newer report. */
export function isLate(
  report: ReportPlace,
  known: { session: string | null; sequence: bigint; pastSessions: readonly string[] },
): boolean {
  if (report.session === known.session) return report.sequence <= known.sequence;
  return known.pastSessions.includes(report.session);
}

import type { InstanceStatus } from './lifecycle.js';
import { overlaps } from './slices.js';
import { type Instant, latest } from './time.js';

/** Seconds without a heartbeat after which a machine counts as unreachable. */
export const UNREACHABLE_AFTER_SECONDS = 30n;

/** Last observed phase of a container. */
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

/** A container's known state, with that of its rental. */
export interface KnownContainer {
  instanceId: string;
  status: InstanceStatus;
  /** Number of starts of the rental so far. */
  gpuIntervals: number;
  phase: ContainerPhase;
  /** The start that `phase` belongs to. */
  start: number;
  /** The newest start that the agent may have received; 0: none, so nothing of the container is on the machine. */
  sentStart: number;
  /** The GPUs assigned to it. */
  firstGpu: number;
  numGpus: number;
}

/** Desired phase of a container. */
export type DesiredPhase = 'running' | 'stopped' | 'absent';

/**
 * Returns the desired phase of each container of a host, except those the agent never received. A container that should
 * run is held back while any container on its GPUs, including its own previous start, is not known to have ended. A GPU
 * therefore never runs two containers, even if messages were lost, and it is known how long a start waited for its own
 * account.
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

/** Whether a container is known not to run: never sent to the agent, or seen ended after its last start. */
function isAtRest({ phase, start, sentStart }: KnownContainer): boolean {
  return (
    sentStart === 0 ||
    (start >= sentStart &&
      (phase === 'STOPPED' || phase === 'FAILED' || phase === 'ERASED' || phase === 'EXITED' || phase === 'SAVING'))
  );
}

/** Seconds [from, to). */
export interface Stretch {
  from: Instant;
  to: Instant;
}

/** Returns the part of `stretch` within `bounds`; null if it is empty. */
export function within(stretch: Stretch, bounds: Stretch): Stretch | null {
  const from = latest(stretch.from, bounds.from);
  const to = stretch.to < bounds.to ? stretch.to : bounds.to;
  return from < to ? { from, to } : null;
}

/** Returns the parts of a stretch that are not credited yet, in chronological order. */
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

/** Position of a report relative to the newest known one. */
export interface ReportPlace {
  session: string;
  sequence: bigint;
}

/** Whether a report is from a past run of the agent, or was overtaken by another. */
export function isLate(
  report: ReportPlace,
  known: { session: string | null; sequence: bigint; pastSessions: readonly string[] },
): boolean {
  if (report.session === known.session) return report.sequence <= known.sequence;
  return known.pastSessions.includes(report.session);
}

/**
 * Seconds without a heartbeat after which a host's lease of a volume ends. Agents stop their containers after 900
 * (docs/host-agent.md); stopping takes up to 300.
 */
export const LEASE_EXPIRY_SECONDS = 1_200n;
/** Seconds that a gateway must listen before it considers hosts silent: while it was down, it received no reports. */
const LISTENING_SECONDS = 60n;

/**
 * Returns the instant before which a host's last heartbeat must be for its lease to have ended; `since`: when the
 * gateway began to listen.
 */
export function silentBefore(now: Instant, since: Instant): Instant {
  return now - since < LISTENING_SECONDS ? 0n : now - LEASE_EXPIRY_SECONDS;
}

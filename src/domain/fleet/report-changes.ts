import type { DesiredInstance, ObservedInstance, Report } from '../../agent-protocol/protocol.js';
import { required } from '../../std/required.js';
import { DomainError } from '../kernel/errors.js';
import type { ContainerPhase } from '../kernel/fleet.js';
import type { InstanceStatus } from '../kernel/lifecycle.js';
import { formatInstant, type Instant } from '../kernel/time.js';

/** A container, in the state in which it was last seen. */
export interface SeenContainer {
  instanceId: string;
  /** The rented machine: the whole host or one of its blocks. */
  machineId: string;
  accountId: string;
  status: InstanceStatus;
  gpuIntervals: number;
  sentStart: number;
  phase: ContainerPhase;
  start: number;
  pulledBytes: bigint | null;
  totalBytes: bigint | null;
  message: string | null;
  exitCode: number | null;
  restarts: number;
  erasedAt: Instant | null;
  imagePorts: number[];
  /** The newest start seen running and the newest start seen failing. Each is null if there is none. */
  runningStart: number | null;
  failedStart: number | null;
  /**
   * Whether the gateway tracks the container's idle time, which start was last reported as quiet, and since when that
   * start has been quiet.
   */
  isWatched: boolean;
  quietStart: number | null;
  quietSince: Instant | null;
}

/** A container's reported state, named like the columns of its row. */
export interface Step {
  instance_id: string;
  phase: ContainerPhase;
  start: number;
  pulled_bytes: number | null;
  total_bytes: number | null;
  message: string | null;
  exit_code: number | null;
  restarts: number;
  erased_at: string | null;
  image_ports: readonly number[];
}

/** A container and its entry in the report. */
interface Reported {
  container: SeenContainer;
  entry: ObservedInstance;
}

/** The changes made by a report. */
export interface ReportChanges {
  steps: { container: SeenContainer; step: Step }[];
  /** Changes to when containers became quiet. */
  quiet: { instance_id: string; start: number; quiet_since: string | null }[];
  /**
   * Containers whose current start is seen running for the first time, and those whose current start is first seen to
   * have failed.
   */
  running: Reported[];
  failed: Reported[];
  /** Containers that were recorded as erased but still exist on the host. */
  reopened: SeenContainer[];
}

/**
 * Compares a report with the known state. Throws invalid_request for instances that were never assigned to the machine
 * and for starts that never existed.
 */
export function changesOf(
  report: Report,
  host: { generation: bigint; document: readonly DesiredInstance[] },
  containers: readonly SeenContainer[],
  at: Instant,
): ReportChanges {
  const known = new Map(containers.map((container) => [container.instanceId, container]));
  checkReport(report, known);
  const isNewest = BigInt(report.generation) >= host.generation;
  const desired = new Map(host.document.map((entry) => [entry.id, entry]));
  const observed = new Map(report.instances.map((entry) => [entry.id, entry]));
  const reported = report.instances.map((entry) => ({
    container: required(known.get(entry.id), 'reported container'),
    entry,
  }));
  return {
    steps: containers.flatMap((container) => {
      const entry = observed.get(container.instanceId);
      const step = keepFailure(
        container,
        entry === undefined
          ? stepOfMissing(container, isNewest, desired, at)
          : stepOf(container, entry, isNewest, desired, at),
      );
      return step !== null && isChange(container, step) ? [{ container, step }] : [];
    }),
    quiet: containers.flatMap((container) =>
      container.isWatched ? quietOf(container, observed.get(container.instanceId), at) : [],
    ),
    running: reported.filter(({ container, entry }) => runsNow(container, entry)),
    failed: reported.filter(({ container, entry }) => failsNow(container, entry)),
    reopened: report.unknown.flatMap((id) => {
      const container = known.get(id);
      return container?.status === 'DESTROYED' && container.erasedAt !== null ? [container] : [];
    }),
  };
}

function checkReport({ instances }: Report, known: ReadonlyMap<string, SeenContainer>): void {
  const seen = new Set<string>();
  for (const { id, start } of instances) {
    const container = known.get(id);
    if (container === undefined) throw refusal(`instance ${id} was never assigned to this machine`);
    if (start > container.gpuIntervals)
      throw refusal(`instance ${id} has had ${container.gpuIntervals} starts; the report names start ${start}`);
    if (seen.has(id)) throw refusal(`instance ${id} is reported twice`);
    seen.add(id);
  }
}

/**
 * Whether a start is seen running for the first time. It is either running now, or it ran, ended and is being
 * restarted.
 */
function runsNow({ runningStart }: SeenContainer, { phase, start, restarts }: ObservedInstance): boolean {
  return start > 0 && (phase === 'RUNNING' || phase === 'EXITED' || restarts > 0) && runningStart !== start;
}

/** Whether a start is seen to have failed for the first time. */
function failsNow({ failedStart }: SeenContainer, { phase, start }: ObservedInstance): boolean {
  return start > 0 && phase === 'FAILED' && failedStart !== start;
}

/** Returns the change to the container's quiet time. An unknown load counts as busy. */
function quietOf(
  { instanceId, status, gpuIntervals, quietStart, quietSince }: SeenContainer,
  entry: ObservedInstance | undefined,
  at: Instant,
): ReportChanges['quiet'] {
  const isUp = entry?.phase === 'RUNNING' || entry?.phase === 'EXITED';
  const isQuiet = status === 'RUNNING' && isUp && entry.start === gpuIntervals && entry.busy === false;
  const wasQuiet = quietSince !== null && quietStart === gpuIntervals;
  if (isQuiet === wasQuiet) return [];
  return [{ instance_id: instanceId, start: gpuIntervals, quiet_since: isQuiet ? formatInstant(at) : null }];
}

function stepOf(
  container: SeenContainer,
  entry: ObservedInstance,
  isNewest: boolean,
  desired: ReadonlyMap<string, DesiredInstance>,
  at: Instant,
): Step | null {
  if (container.erasedAt !== null) return null;
  const { id, phase, pulledBytes, totalBytes, message, exitCode, restarts } = entry;
  // A container that is settled under the newest document stays settled, no matter which start is reported.
  const isSettled = isNewest && desired.get(id)?.phase !== 'running' && ['STOPPED', 'FAILED', 'ERASED'].includes(phase);
  const isErased = phase === 'ERASED' && container.status === 'DESTROYED';
  return {
    instance_id: id,
    phase,
    start: isSettled ? Math.max(entry.start, container.sentStart) : entry.start,
    pulled_bytes: pulledBytes,
    total_bytes: totalBytes,
    message,
    exit_code: exitCode,
    restarts,
    erased_at: isErased ? formatInstant(at) : null,
    image_ports: entry.imagePorts ?? container.imagePorts,
  };
}

/**
 * Returns the new state of a container that is missing from a report by an agent with the newest document. Its absence
 * means that the container no longer exists.
 */
function stepOfMissing(
  container: SeenContainer,
  isNewest: boolean,
  desired: ReadonlyMap<string, DesiredInstance>,
  at: Instant,
): Step | null {
  const { instanceId, sentStart, exitCode, message, restarts, erasedAt, imagePorts } = container;
  const desiredPhase = desired.get(instanceId)?.phase;
  if (!isNewest || erasedAt !== null || desiredPhase === undefined || desiredPhase === 'running') return null;
  const isErased = desiredPhase === 'absent';
  return {
    instance_id: instanceId,
    phase: isErased ? 'ERASED' : 'STOPPED',
    start: sentStart,
    pulled_bytes: null,
    total_bytes: null,
    message,
    exit_code: exitCode,
    restarts,
    erased_at: isErased ? formatInstant(at) : null,
    image_ports: imagePorts,
  };
}

/**
 * Keeps the cause of a failed start visible when its container then ends. It is cleared by the next start or when the
 * instance is destroyed.
 */
function keepFailure({ phase, start, status, message, exitCode }: SeenContainer, step: Step | null): Step | null {
  const isOver = phase !== 'FAILED' || status === 'DESTROYED' || step === null || step.start > start;
  if (isOver || (step.phase !== 'STOPPING' && step.phase !== 'STOPPED')) return step;
  return { ...step, phase, message: step.message ?? message, exit_code: step.exit_code ?? exitCode };
}

function isChange(container: SeenContainer, step: Step): boolean {
  const bytes = (value: number | null) => (value === null ? null : BigInt(value));
  return (
    container.phase !== step.phase ||
    container.start !== step.start ||
    container.pulledBytes !== bytes(step.pulled_bytes) ||
    container.totalBytes !== bytes(step.total_bytes) ||
    container.message !== step.message ||
    container.exitCode !== step.exit_code ||
    container.restarts !== step.restarts ||
    container.imagePorts.join() !== step.image_ports.join() ||
    step.erased_at !== null
  );
}

function refusal(message: string): DomainError {
  return new DomainError('invalid_request', message);
}

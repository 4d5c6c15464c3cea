import type { Container, MachineHeartbeat } from '../../database/generated/client/client.js';
import type { ContainerPhase } from '../kernel/fleet.js';

/** The container as shown to its renter. */
export interface Runtime {
  phase: ContainerPhase | 'UNREACHABLE';
  pulledBytes: bigint | null;
  totalBytes: bigint | null;
  /** The container engine's own message, or the reason why there are no reports. */
  message: string | null;
  exitCode: number | null;
  /** Number of times the container ended and was restarted within this start. */
  restarts: number;
  reachable: boolean;
  lastSeenAt: Date | null;
}

const REFUSED =
  "the operator has revoked this machine's agent: it is not charged from its last heartbeat until the agent returns";

interface Host {
  heartbeat: MachineHeartbeat | null;
  /** The host's agent. Null if none has joined. */
  host: { revokedAt: Date | null } | null;
}

/** Columns needed by `runtimeOf`. */
export const RUNTIME_SELECT = {
  status: true,
  gpuIntervals: true,
  container: { include: { host: { select: { heartbeat: true, host: { select: { revokedAt: true } } } } } },
} as const;

/** Returns the container's state. Returns null for an instance without an agent, which exists only as a record. */
export function runtimeOf({
  status,
  gpuIntervals,
  container,
}: {
  status: string;
  gpuIntervals: number;
  container: (Container & { host: Host }) | null;
}): Runtime | null {
  if (container === null) return null;
  const { host } = container;
  const { seenAt = null, reachable = false } = host.heartbeat ?? {};
  const isRefused = host.host?.revokedAt != null && container.erasedAt === null;
  const isOfLastStart = container.start === gpuIntervals;
  const seen = { phase: container.phase, reachable, lastSeenAt: seenAt };
  if (container.erasedAt === null && !reachable) seen.phase = 'UNREACHABLE' as ContainerPhase;
  // Reports about an earlier start don't apply to the current one.
  else if (status === 'RUNNING' && !isOfLastStart) {
    const nothing = { pulledBytes: null, totalBytes: null, message: null, exitCode: null, restarts: 0 };
    return { ...seen, ...nothing, phase: 'WAITING' };
  }
  const { pulledBytes, totalBytes, message, exitCode, restarts } = container;
  return { ...seen, pulledBytes, totalBytes, message: isRefused ? REFUSED : message, exitCode, restarts };
}

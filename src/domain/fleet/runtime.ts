import type { Container, MachineHeartbeat } from '../../database/generated/client/client.js';
import type { ContainerPhase } from '../rules/fleet.js';

/** The container as its renter sees it. */
export interface Runtime {
  phase: ContainerPhase | 'UNREACHABLE';
  pulledBytes: bigint | null;
  totalBytes: bigint | null;
  /** The engine's own message, or why there are no reports. */
  message: string | null;
  exitCode: number | null;
  /** How often it ended and was restarted within this start. */
  restarts: number;
  reachable: boolean;
  lastSeenAt: Date | null;
}

const REFUSED =
  'the operator has revoked the agent of this machine: it is not charged from its last heartbeat until the agent returns';

interface Host {
  heartbeat: MachineHeartbeat | null;
  /** Its agent. */
  host: { revokedAt: Date | null } | null;
}

/** Columns that `runtimeOf` reads. */
export const RUNTIME_SELECT = {
  status: true,
  gpuIntervals: true,
  container: { include: { host: { select: { heartbeat: true, host: { select: { revokedAt: true } } } } } },
} as const;

/** Returns the container's state; null for an instance that exists only as a record, without an agent. */
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
  // Reports of an earlier start say nothing about this one.
  else if (status === 'RUNNING' && !isOfLastStart) {
    const nothing = { pulledBytes: null, totalBytes: null, message: null, exitCode: null, restarts: 0 };
    return { ...seen, ...nothing, phase: 'WAITING' };
  }
  const { pulledBytes, totalBytes, message, exitCode, restarts } = container;
  return { ...seen, pulledBytes, totalBytes, message: isRefused ? REFUSED : message, exitCode, restarts };
}

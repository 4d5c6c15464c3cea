import { DomainError, type ErrorCode } from './errors.js';

/** Volumes of one instance, at most. */
export const MAX_ATTACHED = 8;
const MAX_PATH_LENGTH = 200;
/** What a container needs as it is; volumes below these are refused too. */
const TAKEN_TREES = ['/proc', '/sys', '/dev', '/run/secrets'];
/** Refused themselves; what is below them may be a volume. */
const TAKEN_PATHS = ['/', '/etc'];

/** A volume of the account, and where the container has it. */
export interface VolumeAtPath {
  id: string;
  path: string;
}

/** An absolute path in its shortest form, where a container can have a volume. */
export function isVolumePath(path: string): boolean {
  if (path.length < 2 || path.length > MAX_PATH_LENGTH || !/^(\/[^/\p{Cc}\p{Surrogate}]+)+$/u.test(path)) return false;
  if (path.split('/').some((part) => part === '.' || part === '..')) return false;
  return !TAKEN_PATHS.includes(path) && !TAKEN_TREES.some((tree) => path === tree || path.startsWith(`${tree}/`));
}

/** Refuses with `code` a machine whose host has an agent that can't mount volumes. Without an agent they are a record. */
export function checkTakesVolumes(machine: { id: string; takesVolumes: boolean }, code: ErrorCode): void {
  if (machine.takesVolumes) return;
  throw new DomainError(
    code,
    `the host of machine ${machine.id} offers no volumes: its agent is too old, has no restic, or may not mount`,
    { reason: 'host_volumes' },
  );
}

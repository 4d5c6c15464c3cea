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

/** Completes "PATH must …" for a path where a container can't have a volume; null for one where it can. */
export function volumePathFault(path: string): string | null {
  if (!path.startsWith('/')) return 'begin with a slash, such as /data';
  if (path.length < 2 || path.length > MAX_PATH_LENGTH) return `have 2 to ${MAX_PATH_LENGTH} characters`;
  if (path.endsWith('/')) return 'not end with a slash';
  if (/[\p{Cc}\p{Surrogate}]/u.test(path)) return 'have no control characters';
  if (
    path
      .slice(1)
      .split('/')
      .some((part) => part === '' || part === '.' || part === '..')
  )
    return 'have no empty part, . or .. in it';
  const taken = [...TAKEN_PATHS, ...TAKEN_TREES].find((each) => each === path);
  const tree = TAKEN_TREES.find((each) => path.startsWith(`${each}/`));
  if (taken === undefined && tree === undefined) return null;
  return tree === undefined
    ? `not be ${taken}: the container needs it`
    : `not be below ${tree}: the container needs it`;
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

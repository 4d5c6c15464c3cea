import { DomainError, type ErrorCode } from './errors.js';

/** Maximum volumes of one instance. */
export const MAX_ATTACHED = 8;
const MAX_PATH_LENGTH = 200;
/** Folders that a container needs unchanged. Paths below them are refused too. */
const TAKEN_TREES = ['/proc', '/sys', '/dev', '/run/secrets'];
/** Refused paths; paths below them are allowed. */
const TAKEN_PATHS = ['/', '/etc'];

/** A volume of the account, and its mount path in the container. */
export interface VolumeAtPath {
  id: string;
  path: string;
}

/** Completes "PATH must …" for a path at which no volume can be mounted; null for a valid path. */
export function volumePathFault(path: string): string | null {
  if (!path.startsWith('/')) return 'begin with a slash, such as /data';
  if (path.length < 2 || path.length > MAX_PATH_LENGTH) return `have 2 to ${MAX_PATH_LENGTH} characters`;
  if (path.endsWith('/')) return 'not end with a slash';
  if (/[\p{Cc}\p{Surrogate}]/u.test(path)) return 'not have control characters';
  if (
    path
      .slice(1)
      .split('/')
      .some((part) => part === '' || part === '.' || part === '..')
  )
    return 'not have an empty part, . or ..';
  const taken = [...TAKEN_PATHS, ...TAKEN_TREES].find((each) => each === path);
  const tree = TAKEN_TREES.find((each) => path.startsWith(`${each}/`));
  if (taken === undefined && tree === undefined) return null;
  return tree === undefined
    ? `not be ${taken}: the container needs it`
    : `not be below ${tree}: the container needs it`;
}

/**
 * Refuses with `code` a machine whose host agent can't mount volumes. Without an agent, volumes are only records, so
 * they are allowed.
 */
export function checkSupportsVolumes(machine: { id: string; supportsVolumes: boolean }, code: ErrorCode): void {
  if (machine.supportsVolumes) return;
  throw new DomainError(
    code,
    `the host of machine ${machine.id} doesn't support volumes: its agent is too old, has no restic, or can't mount`,
    { reason: 'host_volumes' },
  );
}

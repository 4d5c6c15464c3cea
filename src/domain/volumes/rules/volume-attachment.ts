import { DomainError, type ErrorCode } from '../../kernel/errors.js';

/** Maximum number of volumes per instance. */
export const MAX_ATTACHED = 8;
const MAX_PATH_LENGTH = 200;
/** Folders that must stay unchanged in a container. Paths inside them are also rejected. */
const TAKEN_TREES = ['/proc', '/sys', '/dev', '/run/secrets'];
/** Paths that are rejected themselves, although paths inside them are allowed. */
const TAKEN_PATHS = ['/', '/etc'];

/** One of the account's volumes, and the path at which it is mounted in the container. */
export interface VolumeAtPath {
  id: string;
  path: string;
}

/** Returns the end of "PATH must …" for a path at which no volume can be mounted, or null if the path is valid. */
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
 * Throws an error with `code` if the machine's host agent can't mount volumes. Machines without an agent are accepted,
 * because volumes are only records there.
 */
export function checkSupportsVolumes(machine: { id: string; supportsVolumes: boolean }, code: ErrorCode): void {
  if (machine.supportsVolumes) return;
  throw new DomainError(
    code,
    `machine ${machine.id}'s host doesn't support volumes: its agent is too old, has no restic, or can't mount file systems`,
    { reason: 'host_volumes' },
  );
}

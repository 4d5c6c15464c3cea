import { DomainError } from './errors.js';

/** Linux takes no longer path in one call, the zero byte at its end included. */
const MAX_PATH_BYTES = 4_095;
/** Of one name, on every file system that containers have. */
const MAX_NAME_BYTES = 255;
const SLASH = 0x2f;

/**
 * A path of a container as its bytes, which need not be text. Refuses with invalid_request what is not absolute, is longer
 * than Linux takes, or holds a zero byte.
 */
export function checkPath(path: Buffer): Buffer {
  if (path[0] !== SLASH) throw invalid('a path begins with /');
  if (path.length > MAX_PATH_BYTES) throw invalid(`a path has at most ${MAX_PATH_BYTES} bytes`);
  if (path.includes(0)) throw invalid('a path has no zero bytes');
  return path;
}

/** As `checkPath`, for something that is to be made or removed: its last part is a name of its own. */
export function checkNewPath(path: Buffer): Buffer {
  const name = nameOf(checkPath(path));
  if (name.length === 0 || name.length > MAX_NAME_BYTES || name.equals(HERE) || name.equals(ABOVE))
    throw invalid(`a path ends with a name of 1 to ${MAX_NAME_BYTES} bytes that is neither . nor ..`);
  return path;
}

/** The last part of a path. */
export function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(SLASH) + 1);
}

const HERE = Buffer.from('.');
const ABOVE = Buffer.from('..');

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message, { field: 'path' });
}

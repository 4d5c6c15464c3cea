import { DomainError } from './errors.js';

/** Maximum length of a path in a Linux system call, in bytes, excluding the terminating zero byte. */
const MAX_PATH_BYTES = 4_095;
/** Maximum length of a file name, in bytes, on all file systems used by containers. */
const MAX_NAME_BYTES = 255;
const SLASH = 0x2f;

/**
 * Validates a path inside a container and returns it. A path is made of bytes that don't have to be valid text. Throws
 * invalid_request if it isn't absolute, is too long for Linux or contains a zero byte.
 */
export function checkPath(path: Buffer): Buffer {
  if (path[0] !== SLASH) throw invalid('path must begin with /');
  if (path.length > MAX_PATH_BYTES) throw invalid(`path must have at most ${MAX_PATH_BYTES} bytes`);
  if (path.includes(0)) throw invalid('path must not contain NUL bytes');
  return path;
}

/** Like `checkPath`, except that the path is to be created or removed and must therefore end with a real name. */
export function checkNewPath(path: Buffer): Buffer {
  const name = nameOf(checkPath(path));
  if (name.length === 0 || name.length > MAX_NAME_BYTES || name.equals(HERE) || name.equals(ABOVE))
    throw invalid(`path must end with a name of 1 to ${MAX_NAME_BYTES} bytes that is neither . nor ..`);
  return path;
}

/** Returns the last part of a path. */
export function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(SLASH) + 1);
}

const HERE = Buffer.from('.');
const ABOVE = Buffer.from('..');

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message, { field: 'path' });
}

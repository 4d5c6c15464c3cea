import type { IncomingMessage } from 'node:http';
import type Docker from 'dockerode';

/** Files that engines read completely, as root and outside the container, to find its users. */
const USER_FILES = ['/etc/passwd', '/etc/group'];
/** An engine may hold all entries of a file in memory. */
const MAX_USER_FILE_BYTES = 4_194_304;
/** Bits of Go's file modes for everything except regular files. */
const NOT_REGULAR = 0x8f280000;
const SYMLINK = 0x08000000;
/** Maximum links followed to a file. */
const MAX_LINKS = 4;

interface PathStat {
  size: number;
  mode: number;
  linkTarget?: string;
}

/**
 * Returns why an engine must not read the users of a container; null if it may. An engine that opens a pipe waits for
 * its other end, without a limit and with the container locked: Podman then can't list any container of the host. A
 * stopped container can't change between this check and the engine's reading; a running one can.
 */
export async function userFilesFault(container: Docker.Container, timeoutMs: number): Promise<string | null> {
  for (const path of USER_FILES) {
    const found = await statOf(container, path, timeoutMs);
    if (found === null) continue;
    if ((found.mode & NOT_REGULAR) !== 0) return `unreadable users: ${path} is not a regular file`;
    if (found.size > MAX_USER_FILE_BYTES) return `unreadable users: ${path} has ${found.size} bytes`;
  }
  return null;
}

/** Returns the file at a path, or null if none exists. Follows links; if there are too many, it returns the last link. */
async function statOf(container: Docker.Container, path: string, timeoutMs: number): Promise<PathStat | null> {
  let at = path;
  for (let links = 0; ; links += 1) {
    const found = await headOf(container, at, timeoutMs);
    if (found === null || (found.mode & SYMLINK) === 0 || links === MAX_LINKS || !found.linkTarget) return found;
    at = found.linkTarget;
  }
}

async function headOf(container: Docker.Container, path: string, timeoutMs: number): Promise<PathStat | null> {
  const options = { path, abortSignal: AbortSignal.timeout(timeoutMs) };
  const answer = await container.infoArchive(options).catch((error: { statusCode?: number }) => {
    if (error.statusCode !== 404) throw error;
    return null;
  });
  if (answer === null) return null;
  const { headers } = (answer as IncomingMessage).resume();
  const stat = headers['x-docker-container-path-stat'];
  return typeof stat === 'string' ? (JSON.parse(Buffer.from(stat, 'base64').toString('utf8')) as PathStat) : null;
}

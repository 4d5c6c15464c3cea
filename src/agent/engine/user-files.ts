import type { IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import type Docker from 'dockerode';

/** Files that engines read completely, as root and outside the container, to find its users. */
const USER_FILES = ['/etc/passwd', '/etc/group'];
/** Maximum size of a user file. It is limited because an engine may hold all of the file's entries in memory. */
const MAX_USER_FILE_BYTES = 4_194_304;
/** Bits that Go's file modes have for everything except regular files. */
const NOT_REGULAR = 0x8f280000;
const SYMLINK = 0x08000000;
const DIRECTORY = 0x80000000;
/** Maximum links to follow to a file. */
const MAX_LINKS = 4;
/** File systems that a running container has in addition to its mounts. */
const KERNEL_MOUNTS = ['/dev', '/proc', '/sys'];

interface PathStat {
  size: number;
  mode: number;
  linkTarget?: string;
}

/**
 * Returns why an engine must not read a container's user files, or null if it may. An engine that opens a named pipe
 * waits for the other end without a time limit and keeps the container locked, so that Podman can't list any container
 * on the host. Engines read these files underneath the container's mounts, whereas this check sees the mounts, so the
 * files must be outside of them. A stopped container can't change between this check and the engine's read, but a
 * running one can.
 */
export async function userFilesFault(container: Docker.Container, timeoutMs: number): Promise<string | null> {
  const mounts = await mountsOf(container, timeoutMs);
  const folder = await headOf(container, '/etc', timeoutMs);
  if (folder !== null && (folder.mode & DIRECTORY) === 0) return 'unreadable users: /etc is not a folder';
  for (const path of USER_FILES) {
    const fault = await faultOf(container, path, mounts, timeoutMs);
    if (fault !== null) return `unreadable users: ${path} ${fault}`;
  }
  return null;
}

/** Follows links, all of which must stay outside the mounts. A file that doesn't exist has no fault. */
async function faultOf(
  container: Docker.Container,
  path: string,
  mounts: readonly string[],
  timeoutMs: number,
): Promise<string | null> {
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    if (mounts.some((mount) => at === mount || at.startsWith(`${mount}/`))) return 'is in a mount';
    const found = await headOf(container, at, timeoutMs);
    if (found === null) return null;
    if ((found.mode & SYMLINK) === 0 || !found.linkTarget) {
      if ((found.mode & NOT_REGULAR) !== 0) return 'is not a regular file';
      return found.size > MAX_USER_FILE_BYTES ? `has ${found.size} bytes` : null;
    }
    at = posix.resolve(posix.dirname(at), found.linkTarget);
  }
  return 'has too many links';
}

/** Returns the paths of the container's mounts. */
async function mountsOf(container: Docker.Container, timeoutMs: number): Promise<string[]> {
  const { Mounts, HostConfig } = await container.inspect({ abortSignal: AbortSignal.timeout(timeoutMs) });
  return [...KERNEL_MOUNTS, ...Mounts.map(({ Destination }) => Destination), ...Object.keys(HostConfig.Tmpfs ?? {})];
}

/** Returns the entry at a path, or null if there is none. Podman reports a dangling link with status 404. */
async function headOf(container: Docker.Container, path: string, timeoutMs: number): Promise<PathStat | null> {
  const request = {
    path: `/containers/${container.id}/archive?`,
    method: 'HEAD',
    isStream: true,
    options: { path },
    abortSignal: AbortSignal.timeout(timeoutMs),
    statusCodes: { 200: true, 404: true, 400: 'bad request', 500: 'server error' },
  };
  const { headers } = await new Promise<IncomingMessage>((resolve, reject) => {
    container.modem.dial(request, (error: Error | null, response: IncomingMessage) =>
      error ? reject(error) : resolve(response.resume()),
    );
  });
  const stat = headers['x-docker-container-path-stat'];
  return typeof stat === 'string' ? (JSON.parse(Buffer.from(stat, 'base64').toString('utf8')) as PathStat) : null;
}

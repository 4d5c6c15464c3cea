import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import tar from 'tar-stream';

/** Maximum number of bytes to read from an image's /etc/passwd. */
const MAX_PASSWD_BYTES = 1_000_000;
/** Highest valid Linux user id. The next value means "no user". */
const MAX_UID = 4_294_967_294;

/**
 * Returns the id of the user that a container's command runs as, even if the container is not running yet. Rejects with
 * the engine's error.
 */
export async function userIdOf(container: Docker.Container, timeoutMs: number): Promise<number> {
  const { Config } = await container.inspect({ abortSignal: AbortSignal.timeout(timeoutMs) });
  return readUser(Config.User ?? '', async () => {
    const options = { path: '/etc/passwd', abortSignal: AbortSignal.timeout(timeoutMs) };
    const archive = await container.getArchive(options).catch((error: { statusCode?: number }) => {
      if (error.statusCode !== 404) throw error;
      return null;
    });
    return archive === null ? '' : firstFileOf(archive as Readable);
  });
}

/**
 * Resolves an image's USER, which is a number, or a name in the image's /etc/passwd, optionally followed by a colon and
 * a group. Returns root if the image has no USER or an unknown one. In the latter case, the engine refuses to start the
 * container.
 */
export async function readUser(user: string, passwd: () => Promise<string>): Promise<number> {
  const [name = ''] = user.split(':');
  if (name === '') return 0;
  if (/^\d+$/.test(name)) return within(Number(name));
  const line = (await passwd()).split('\n').find((each) => each.startsWith(`${name}:`));
  return within(Number(line?.split(':')[2] ?? 0));
}

/**
 * Returns the content of an archive's first file, or an empty string if it contains no file, for example only a link.
 */
async function firstFileOf(archive: Readable): Promise<string> {
  const extract = tar.extract();
  archive.once('error', (error) => extract.destroy(error));
  archive.pipe(extract);
  try {
    for await (const entry of extract) {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > MAX_PASSWD_BYTES) break;
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString('utf8');
    }
    return '';
  } finally {
    archive.destroy();
  }
}

function within(id: number): number {
  return Number.isInteger(id) && id >= 0 && id <= MAX_UID ? id : 0;
}

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { AccountsDeps } from '../../domain/accounts/deps.js';
import type { SessionCaller } from '../../domain/accounts/sessions.js';
import type { FileEntry, FilePlace, InstanceFiles } from '../../domain/instances/instance-files.js';
import { DomainError } from '../../domain/kernel/errors.js';
import { nameOf } from '../../domain/kernel/file-path.js';
import { checkScope } from '../../domain/kernel/scopes.js';
import { formatInstant } from '../../domain/kernel/time.js';
import type { KeyUses } from '../key-uses.js';
import { atPace } from '../pace.js';
import { named, refuseOtherMethods } from '../routing.js';
import { createTokenBuckets } from '../token-buckets.js';
import { type Mover, Transfers } from '../transfers.js';
import type { IsTrusted } from '../trust-proxy.js';
import { sendAttachment } from './attachment.js';
import { createPageSession } from './page-session.js';

export interface FilesApiOptions {
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>;
  files: InstanceFiles;
  keyUses: KeyUses;
  isTrusted: IsTrusted;
}

const PATH = '/console/files/:id';
const METHODS = 'GET, HEAD, PUT, POST, DELETE, OPTIONS';
const OPERATION = 'files of an instance';

/** Rate limit per account, because each request runs a command on the machine. */
const REQUESTS = { size: 200, everySeconds: 0.2 };
/** Limits for concurrent file transfers, each of which has its own tunnel and buffer. */
const TRANSFERS = { perTarget: 8, perAccount: 16, all: 128, waitingPerAccount: 32, waiting: 500 };
/**
 * Limits for all other concurrent requests. The container decides what it sends and when, and responses are held in
 * memory.
 */
const COMMANDS = { perTarget: 4, perAccount: 6, all: 64, waitingPerAccount: 24, waiting: 200 };
const MAX_FILE_BYTES = 1e13;
/**
 * Time to keep reading a rejected upload, because some browsers don't read a response until they have sent everything.
 */
const READS_REST_MS = 5_000;
/** The last second of the year 9999, after which years no longer have four digits. */
const LAST_INSTANT = 253_402_300_799n;

interface FileRequest {
  request: Request;
  response: Response;
  caller: SessionCaller;
  place: FilePlace;
  mover: Mover;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/**
 * Serves the files in running instances to the console. `?folder=` and `?file=` contain a path as percent-encoded
 * bytes. A container's content is never displayed as a page on this origin.
 */
export function createFilesApi({ deps, files, keyUses, isTrusted }: FilesApiOptions): Router {
  const sessionOf = createPageSession({ deps, keyUses, isTrusted });
  const [transfers, commands] = [new Transfers(TRANSFERS), new Transfers(COMMANDS)];
  const requests = createTokenBuckets({
    ...REQUESTS,
    refusal: (seconds) => `too many file requests from this account; try again in ${seconds} s`,
  });

  const readRequest = async (request: Request, response: Response, kinds: readonly PathKind[]) => {
    // The client may also disconnect during the session lookup.
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const caller = await sessionOf(request);
    checkScope(caller.scopes, OPERATION);
    requests.take(caller.accountId);
    const { kind, path, isReplacing } = readAddress(request.url, kinds);
    const instanceId = String(request.params.id);
    const { accountId } = caller;
    const place = { opener: caller, instanceId, path };
    const of: FileRequest = {
      request,
      response,
      caller,
      place,
      mover: { id: instanceId, accountId },
      gone: gone.signal,
    };
    return { ...of, kind, isReplacing };
  };

  const show: RequestHandler = async (request, response) => {
    const { kind, place, mover, gone } = await readRequest(request, response, ['folder', 'file']);
    if (kind === 'file') {
      // A download may take as long as needed.
      request.state.isLongLived = true;
      return transfers.run(mover, gone, async () => {
        const { size, bytes } = await files.read(place, gone);
        await sendAttachment(request, response, { name: nameOf(place.path), size, bytes });
      });
    }
    const { entries, isWhole } = await commands.run(mover, gone, () => files.list(place, gone));
    response.json({ isWhole, entries: entries.map(shown) });
  };

  const take: RequestHandler = async (request, response) => {
    const { place, mover, gone, isReplacing } = await readRequest(request, response, ['file']);
    const size = sizeOf(request);
    request.state.isLongLived = true;
    const pieces = atPace(request)[Symbol.asyncIterator]();
    // This doesn't define `return`, because the rest of a rejected body must still be read.
    const bytes: AsyncIterable<Buffer> = { [Symbol.asyncIterator]: () => ({ next: () => pieces.next() }) };
    try {
      await transfers.run(mover, gone, () => files.write(place, { size, replaces: isReplacing, bytes }, gone));
    } catch (error) {
      // The unread rest must not be parsed as the next request.
      response.setHeader('Connection', 'close');
      await readRest(pieces);
      throw error;
    }
    response.status(201).json({});
  };

  const make: RequestHandler = async (request, response) => {
    const { place, mover, gone } = await readRequest(request, response, ['folder']);
    await commands.run(mover, gone, () => files.makeFolder(place, gone));
    response.status(201).json({});
  };

  const remove: RequestHandler = async (request, response) => {
    const { kind, place, mover, gone } = await readRequest(request, response, ['folder', 'file']);
    const removeEntry = kind === 'file' ? files.removeFile : files.removeFolder;
    await commands.run(mover, gone, () => removeEntry(place, gone));
    response.status(204).end();
  };

  const router = express.Router({ strict: true, caseSensitive: true });
  router.all(PATH, named(PATH.replace(':id', '{id}')), (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get(PATH, show);
  router.put(PATH, take);
  router.post(PATH, make);
  router.delete(PATH, remove);
  router.all(PATH, refuseOtherMethods(METHODS));
  return router;
}

type PathKind = 'folder' | 'file';

/** Reads the path from a URL. Throws unless the URL has exactly one file or folder. */
function readAddress(url: string, kinds: readonly PathKind[]): { kind: PathKind; path: Buffer; isReplacing: boolean } {
  const [, query = ''] = url.split('?', 2);
  const parameters = query.split('&').map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? ([pair, ''] as const) : ([pair.slice(0, at), pair.slice(at + 1)] as const);
  });
  const paths = parameters.filter(([name]) => name === 'folder' || name === 'file');
  const [kind, text] = paths[0] ?? [];
  if (text === undefined || paths.length !== 1 || !kinds.includes(kind as PathKind))
    throw new DomainError('invalid_request', `the URL needs one of: ${kinds.map((name) => `?${name}=`).join(', ')}`, {
      field: 'path',
    });
  const isReplacing = parameters.some(([name, value]) => name === 'replace' && value === 'true');
  return { kind: kind as PathKind, path: bytesOf(text), isReplacing };
}

/** Decodes percent-encoded bytes, which may not be valid UTF-8. */
function bytesOf(text: string): Buffer {
  return Buffer.from(
    text.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

function sizeOf({ headers }: Request): number {
  const length = headers['content-length'];
  const size = Number(length);
  if (length === undefined || !Number.isSafeInteger(size))
    throw new DomainError('invalid_request', 'the content-length header is required: the file size in bytes');
  if (size > MAX_FILE_BYTES)
    throw new DomainError('payload_too_large', `a file must be at most ${MAX_FILE_BYTES} bytes`);
  return size;
}

async function readRest(pieces: AsyncIterator<Buffer>): Promise<void> {
  const until = performance.now() + READS_REST_MS;
  try {
    while (performance.now() < until && (await pieces.next()).done !== true);
  } catch {
    // The sender has disconnected.
  }
}

/** Formats a folder entry. Its name is shown as text but identified by its bytes. */
function shown({ name, kind, isLink, size, modifiedAt }: FileEntry): object {
  return {
    name: name.toString('utf8'),
    encoded: name
      .toString('latin1')
      .replace(/[^A-Za-z0-9._~-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`),
    kind,
    isLink,
    size: Number(size),
    modifiedAt: modifiedAt >= 0n && modifiedAt <= LAST_INSTANT ? formatInstant(modifiedAt) : null,
  };
}

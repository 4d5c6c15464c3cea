import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { DomainError } from '../../domain/kernel/errors.js';
import { accessOf, type RepositoryAccess } from '../../domain/volumes/access.js';
import type { VolumeDeps } from '../../domain/volumes/deps.js';
import { VolumeFull } from '../../domain/volumes/full.js';
import { deleteObject, listObjects, objectSize, putObject, readObject } from '../../domain/volumes/repository.js';
import { type ObjectKind, type ObjectName, StoreFault } from '../../domain/volumes/store.js';
import { sendError } from '../error-envelope.js';
import { createFaultLog, describeFault, type Fault, type LogFault } from '../errors.js';
import type { KeyUses } from '../key-uses.js';
import { atPace } from '../pace.js';
import { addressOf } from '../request-state.js';
import { createTokenBuckets } from '../token-buckets.js';
import { type Mover, Transfers } from '../transfers.js';
import type { IsTrusted } from '../trust-proxy.js';
import { rangeOf, rangeWithin } from './byte-range.js';
import { OwnerDownloads } from './owner-downloads.js';

/** Path prefix for repositories, as in `rest:https://…/volumes/v-…` for restic. */
const VOLUMES_PATH = '/volumes/';
const HASH = '[0-9a-f]{64}';
const PATH = new RegExp(
  `^/volumes/(v-[0-9a-f]{8})(?:/|/(config)|/(data|keys|locks|snapshots|index)/(${HASH})?)?(?:\\?(.{0,200}))?$`,
);
const LIST_V2 = 'application/vnd.x.restic.rest.v2';
const LIST_V1 = 'application/vnd.x.restic.rest.v1';
const BYTES_TYPE = 'application/octet-stream';
const STORE_RETRY_SECONDS = 5;
const INSUFFICIENT_STORAGE = 507;
/** Number of list entries sent in one write. */
const ENTRIES_PER_WRITE = 500;

const UPLOADS = { perTarget: 6, perAccount: 12, all: 48, waitingPerAccount: 128, waiting: 500 };
const DOWNLOADS = { perTarget: 16, perAccount: 32, all: 128, waitingPerAccount: 256, waiting: 1_000 };

export interface VolumeApiOptions {
  deps: VolumeDeps;
  log: Logger;
  keyUses: KeyUses;
  isTrusted: IsTrusted;
}

export function isVolumeApi({ url = '' }: IncomingMessage): boolean {
  return url.startsWith(VOLUMES_PATH);
}

/** A path's target: the repository itself, all objects of one kind, or a single object. */
type Place =
  | { kind: 'repository'; query: string }
  | { kind: 'list'; of: ObjectKind }
  | { kind: 'object'; object: ObjectName };

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  access: RepositoryAccess;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/** Serves restic's REST protocol for the repository of each volume. */
export function createVolumeApi(options: VolumeApiOptions): RequestListener {
  const { deps, log, keyUses, isTrusted } = options;
  const serve = createServe(deps);
  const logFault = createFaultLog(log, ' of a volume');
  const ownerDownloads = new OwnerDownloads(deps);
  const requests = createTokenBuckets({
    size: 2_000,
    everySeconds: 0.01,
    refusal: () => 'too many requests for this volume',
  });

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const found = placeOf(request);
    if (found === null) throw new DomainError('no_route', `no such endpoint: ${request.method} ${VOLUMES_PATH}…`);
    request.state.route = routeOf(found.place);
    const address = addressOf(request, isTrusted);
    const access = await accessOf(deps, { volumeId: found.volume, password: passwordOf(request), address });
    request.state.accountId = access.volume.accountId;
    if (access.kind === 'owner') {
      keyUses.record(access.caller);
      if (request.method === 'GET') ownerDownloads.add(response, access.caller);
    }
    requests.take(access.volume.id);
    request.state.isLongLived = true;
    if (access.kind === 'owner' && isOfHistory(request, found.place)) request.state.isRoutine = false;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await serve({ request, response, access, gone: gone.signal }, found.place);
  };

  return (request, response) => {
    // Only failures are logged, because storing a snapshot takes thousands of requests.
    request.state.isRoutine = true;
    answer(request, response).catch((error: unknown) => refuse(request, response, error, logFault));
  };
}

type Serve = (exchange: Exchange, place: Place) => Promise<void>;

function createServe(
  deps: Pick<
    VolumeDeps,
    | 'db'
    | 'clock'
    | 'settings'
    | 'sealingKeys'
    | 'volumeStore'
    | 'fleet'
    | 'events'
    | 'volumeKeys'
    | 'volumeWrites'
    | 'restic'
  >,
): Serve {
  const uploads = new Transfers(UPLOADS);
  const downloads = new Transfers(DOWNLOADS);
  return async (exchange, place) => {
    const { request, access, gone } = exchange;
    const { method } = request;
    const mover = moverOf(access);
    if (place.kind === 'list' && method === 'GET')
      return downloads.run(mover, gone, () => sendList(deps, exchange, place.of));
    if (place.kind === 'repository' && method === 'POST' && place.query === 'create=true') return done(exchange);
    if (place.kind === 'object') {
      const { object } = place;
      if (method === 'HEAD') return sendSize(deps, exchange, object);
      if (method === 'GET') return downloads.run(mover, gone, () => sendObject(deps, exchange, object));
      if (method === 'POST') return uploads.run(mover, gone, () => takeObject(deps, exchange, object));
      if (method === 'DELETE') {
        if (!(await deleteObject(deps, access, object))) throw noObject();
        return done(exchange);
      }
    }
    throw new DomainError('method_not_allowed', `${method} is not allowed here`);
  };
}

/**
 * Returns the account and target that a transfer counts for. The gateway's own transfers don't count for any account.
 */
function moverOf({ kind, volume: { id, accountId } }: RepositoryAccess): Mover {
  return kind === 'upkeep' ? { id: `upkeep/${id}`, accountId: 'upkeep' } : { id, accountId };
}

async function takeObject(
  deps: Pick<
    VolumeDeps,
    'db' | 'clock' | 'settings' | 'sealingKeys' | 'volumeStore' | 'fleet' | 'events' | 'volumeKeys' | 'volumeWrites'
  >,
  exchange: Exchange,
  object: ObjectName,
): Promise<void> {
  const { request, access } = exchange;
  const length = request.headers['content-length'];
  try {
    await putObject(deps, access, object, atPace(request), length === undefined ? null : Number(length));
    deps.events.volumeWritten('stored');
  } catch (error) {
    deps.events.volumeWritten(outcomeOf(error, request));
    throw error;
  }
  done(exchange);
}

async function sendObject(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  exchange: Exchange,
  object: ObjectName,
): Promise<void> {
  const { request, response, access } = exchange;
  const wanted = rangeOf(request.headers.range);
  let isBeyond = false;
  const found = await readObject(deps, access, object, (size) => {
    const range = rangeWithin(wanted, size);
    isBeyond = range === undefined;
    return range ?? null;
  });
  if (found === null) throw noObject();
  const { size, range, bytes } = found;
  if (isBeyond) {
    bytes.destroy();
    response.writeHead(416, { 'Content-Range': `bytes */${size}`, 'Content-Length': '0' }).end();
    return;
  }
  const length = range === null ? size : range.to - range.from + 1;
  response.writeHead(range === null ? 200 : 206, {
    'Content-Type': BYTES_TYPE,
    'Content-Length': String(length),
    'Accept-Ranges': 'bytes',
    ...(range !== null && { 'Content-Range': `bytes ${range.from}-${range.to}/${size}` }),
  });
  await pipeline(bytes, response).catch((error: NodeJS.ErrnoException) => {
    // The client has disconnected.
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    throw new StoreFault(`an object was truncated: ${error.message}`, { cause: error });
  });
}

async function sendSize(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  { response, access }: Exchange,
  object: ObjectName,
): Promise<void> {
  const size = await objectSize(deps, access, object);
  if (size === null) throw noObject();
  response
    .writeHead(200, { 'Content-Type': BYTES_TYPE, 'Content-Length': String(size), 'Accept-Ranges': 'bytes' })
    .end();
}

/** Sends a list in pieces, because a large volume has hundreds of thousands of objects. */
async function sendList(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  { request, response, access, gone }: Exchange,
  kind: ObjectKind,
): Promise<void> {
  const hasSizes = request.headers.accept === LIST_V2;
  let piece = '';
  let entries = 0;
  const flush = async () => {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': hasSizes ? LIST_V2 : LIST_V1 });
    if (!response.write(piece)) await once(response, 'drain', { signal: gone });
    piece = '';
  };
  for await (const { name, size } of listObjects(deps, access, kind)) {
    piece += entries === 0 ? '[' : ',';
    piece += hasSizes ? `{"name":"${name}","size":${size}}` : `"${name}"`;
    entries += 1;
    if (entries % ENTRIES_PER_WRITE === 0) await flush();
  }
  piece += entries === 0 ? '[]' : ']';
  await flush();
  response.end();
}

function done({ response }: Exchange): void {
  response.writeHead(200, { 'Content-Length': '0' }).end();
}

function placeOf({ url = '' }: IncomingMessage): { volume: string; place: Place } | null {
  const [, volume, config, kind, name, query = ''] = PATH.exec(url) ?? [];
  if (volume === undefined) return null;
  if (config !== undefined) return { volume, place: { kind: 'object', object: { kind: 'config' } } };
  if (kind === undefined) return { volume, place: { kind: 'repository', query } };
  const of = kind as ObjectKind;
  return { volume, place: name === undefined ? { kind: 'list', of } : { kind: 'object', object: { kind: of, name } } };
}

function routeOf(place: Place): string {
  if (place.kind === 'repository') return '/volumes/{id}/';
  if (place.kind === 'list') return `/volumes/{id}/${place.of}/`;
  return place.object.kind === 'config' ? '/volumes/{id}/config' : `/volumes/{id}/${place.object.kind}/{name}`;
}

/** Returns the HTTP Basic password for any user name, or undefined if there is none. */
function passwordOf({ headers: { authorization = '' } }: IncomingMessage): string | undefined {
  const [, encoded] = /^Basic +([\w+/=-]{1,1000}) *$/i.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : text.slice(colon + 1);
}

function noObject(): DomainError {
  return new DomainError('not_found', 'the repository has no such object');
}

/** Returns whether the request deletes a snapshot or a key. Such requests are logged even if they succeed. */
function isOfHistory({ method }: IncomingMessage, place: Place): boolean {
  return method === 'DELETE' && place.kind === 'object' && ['snapshots', 'keys'].includes(place.object.kind);
}

/** Classifies an error for the metrics. */
function outcomeOf(error: unknown, request: IncomingMessage): 'refused' | 'full' | 'store_full' | 'broken' | 'failed' {
  if (error instanceof VolumeFull) return 'full';
  if (error instanceof StoreFault && error.isFull) return 'store_full';
  if (error instanceof DomainError) return 'refused';
  return request.destroyed && !request.complete ? 'broken' : 'failed';
}

function faultOf(error: unknown): Fault {
  if (error instanceof VolumeFull) return { ...describeFault(error), status: INSUFFICIENT_STORAGE };
  if (!(error instanceof StoreFault)) return describeFault(error);
  const message = error.isFull ? 'the volume store is full' : 'the volume store is unreachable; try again';
  const refusal = describeFault(new DomainError('unavailable', message, { retryAfterSeconds: STORE_RETRY_SECONDS }));
  return { ...refusal, ...(error.isFull && { status: INSUFFICIENT_STORAGE }), outage: error.message };
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown, logFault: LogFault): void {
  // The client has disconnected, so nothing failed here.
  if ((request.destroyed && !request.complete) || (error as Error).name === 'AbortError') return;
  const fault = faultOf(error);
  logFault(fault, error, { id: request.state.id });
  if (response.headersSent || response.destroyed) response.destroy();
  // The unread rest of the body must not be parsed as the next request.
  else sendError(response, fault, request.complete ? {} : { Connection: 'close' });
}

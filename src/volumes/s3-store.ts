import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import {
  type ByteRange,
  type ListedObject,
  type ObjectKind,
  type ObjectName,
  type Received,
  StoreFault,
  VOLUME_ID,
  type VolumeStore,
} from '../domain/volumes/store.js';

/** S3's minimum size for all parts but the last. Each upload keeps this many bytes in memory. */
const PART_BYTES = 5 * 1_024 * 1_024;
/** Time limit for calls that block the transaction publishing an object. */
const PUBLISH_MS = 10_000;
const CALL_MS = 60_000;
const NO_ANSWER = [
  'CredentialsProviderError',
  'AbortError',
  'TimeoutError',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
];
const FULL = ['QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage'];

export interface S3Place {
  bucket: string;
  /** Prefix of every key, either empty or ending with a slash. */
  prefix: string;
  /** Null means the endpoint from the environment or Amazon's. */
  endpoint: string | null;
  region: string | null;
}

type Published = Awaited<ReturnType<Received['publish']>>;

/**
 * Stores volumes in a bucket of S3 or of any service that supports its protocol. The AWS SDK reads the credentials from
 * the environment.
 */
export class S3Store implements VolumeStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #endpoint: string;

  constructor({ bucket, prefix, endpoint, region }: S3Place) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#endpoint = endpoint ?? 's3.amazonaws.com';
    this.#client = new S3Client({
      // Self-hosted servers seldom support a separate host name for each bucket, and may not support the newer
      // checksums.
      ...(endpoint !== null && { endpoint, forcePathStyle: true }),
      ...(region !== null && { region }),
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  async receive(volume: string, object: ObjectName, bytes: AsyncIterable<Buffer>): Promise<Received> {
    const Key = this.#key(volume, object);
    const upload = new Upload(this.#client, { Bucket: this.#bucket, Key });
    try {
      for await (const part of partsOf(bytes)) await upload.add(part);
    } catch (error) {
      await upload.abort();
      throw asFault(error);
    }
    const publish = async (): Promise<Published> => {
      const wasBytes = await this.size(volume, object);
      if (wasBytes === upload.size) return { outcome: 'kept' };
      await upload.complete().catch(rethrow);
      return wasBytes === null ? { outcome: 'created' } : { outcome: 'replaced', wasBytes };
    };
    return { publish, discard: () => upload.abort() };
  }

  async read(volume: string, object: ObjectName, range: ByteRange | null): Promise<Readable | null> {
    const Range = range === null ? undefined : `bytes=${range.from}-${range.to}`;
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: this.#key(volume, object), Range });
    const found = await this.#client.send(command, within(CALL_MS)).catch(nullIfMissing);
    if (found === null) return null;
    return found.Body instanceof Readable ? found.Body : Readable.from([]);
  }

  async size(volume: string, object: ObjectName): Promise<number | null> {
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: this.#key(volume, object) });
    const found = await this.#client.send(command, within(PUBLISH_MS)).catch(nullIfMissing);
    return found === null ? null : (found.ContentLength ?? 0);
  }

  async *list(volume: string, kind: ObjectKind): AsyncIterable<ListedObject> {
    for await (const { Key, Size, LastModified } of this.#objects(`${volume}/${kind}/`))
      yield { name: Key.slice(Key.lastIndexOf('/') + 1), size: Size ?? 0, modifiedAtMs: Number(LastModified ?? 0) };
  }

  async delete(volume: string, object: ObjectName): Promise<number | null> {
    const size = await this.size(volume, object);
    if (size === null) return null;
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: this.#key(volume, object) });
    await this.#client.send(command, within(PUBLISH_MS)).catch(rethrow);
    return size;
  }

  async erase(volume: string): Promise<void> {
    await this.removeAbandonedUploads(volume, Number.POSITIVE_INFINITY);
    for (;;) {
      const command = new ListObjectsCommand({ Bucket: this.#bucket, Prefix: `${this.#prefix}${volume}/` });
      const { Contents = [] } = await this.#client.send(command, within(CALL_MS)).catch(rethrow);
      if (Contents.length === 0) return;
      const Delete = { Objects: Contents.map(({ Key }) => ({ Key })), Quiet: true };
      const answer = await this.#client
        .send(new DeleteObjectsCommand({ Bucket: this.#bucket, Delete }), within(CALL_MS))
        .catch(rethrow);
      const refused = answer.Errors?.[0];
      if (refused !== undefined) throw new StoreFault(`S3 did not delete ${refused.Key}: ${refused.Message}`);
    }
  }

  async copy(from: string, to: string, kind: ObjectKind | 'config', only?: string): Promise<number> {
    const there = new Set<string>();
    const prefixOf = (volume: string) => (kind === 'config' ? `${volume}/config` : `${volume}/${kind}/`);
    for await (const { Key } of this.#objects(prefixOf(to))) there.add(Key);
    let added = 0;
    for await (const { Key } of this.#objects(prefixOf(from))) {
      const target = `${this.#prefix}${to}${Key.slice(this.#prefix.length + from.length)}`;
      if (there.has(target) || (only !== undefined && !target.endsWith(`/${only}`))) continue;
      const CopySource = `${this.#bucket}/${Key.split('/').map(encodeURIComponent).join('/')}`;
      const command = new CopyObjectCommand({ Bucket: this.#bucket, Key: target, CopySource });
      // Null if the object was deleted after being listed.
      if ((await this.#client.send(command, within(CALL_MS)).catch(nullIfMissing)) !== null) added += 1;
    }
    return added;
  }

  async removeAbandonedUploads(volume: string, beforeMs: number): Promise<void> {
    const Prefix = `${this.#prefix}${volume}/`;
    const list = new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix });
    // Not every server supports this listing. Those that don't must drop uploads automatically, or by a rule set on the
    // bucket.
    const { Uploads = [] } = await this.#client.send(list, within(CALL_MS)).catch(() => ({ Uploads: [] }));
    for (const { Key, UploadId, Initiated } of Uploads) {
      if (!Key?.startsWith(Prefix) || Number(Initiated ?? 0) >= beforeMs) continue;
      const abort = new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId });
      await this.#client.send(abort, within(CALL_MS)).catch(nullIfMissing);
    }
  }

  repository(volume: string): string {
    return `s3:${this.#endpoint}/${this.#bucket}/${this.#prefix}${volume}`;
  }

  /**
   * Skips from each volume's objects to the next volume, because not every server handles delimiters in listings as
   * Amazon does.
   */
  async *volumes(): AsyncIterable<string> {
    for (let Marker: string | undefined; ; ) {
      const command = new ListObjectsCommand({ Bucket: this.#bucket, Prefix: this.#prefix, MaxKeys: 1, Marker });
      const { Contents = [] } = await this.#client.send(command, within(CALL_MS)).catch(rethrow);
      const key = Contents[0]?.Key;
      if (key === undefined) return;
      const [name = ''] = key.slice(this.#prefix.length).split('/');
      if (VOLUME_ID.test(name)) yield name;
      // `0` is the character after `/`.
      Marker = `${this.#prefix}${name}0`;
    }
  }

  close(): void {
    this.#client.destroy();
  }

  #key(volume: string, object: ObjectName): string {
    if (object.kind === 'config') return `${this.#prefix}${volume}/config`;
    const { kind, name } = object;
    return `${this.#prefix}${volume}/${kind}/${kind === 'data' ? `${name.slice(0, 2)}/` : ''}${name}`;
  }

  /**
   * Uses the older listing, whose pages begin after a given key, because every server that supports the protocol has
   * it.
   */
  async *#objects(prefix: string) {
    for (let Marker: string | undefined; ; ) {
      const command = new ListObjectsCommand({ Bucket: this.#bucket, Prefix: `${this.#prefix}${prefix}`, Marker });
      const { Contents = [], IsTruncated } = await this.#client.send(command, within(CALL_MS)).catch(rethrow);
      for (const { Key, Size, LastModified } of Contents) if (Key !== undefined) yield { Key, Size, LastModified };
      Marker = Contents.at(-1)?.Key;
      if (IsTruncated !== true || Marker === undefined) return;
    }
  }
}

/** Keeps a small object in memory and stores it when it is published. Uploads a larger one in parts as it arrives. */
class Upload {
  readonly #client: S3Client;
  readonly #target: { Bucket: string; Key: string };
  readonly #parts: CompletedPart[] = [];
  #first: Buffer | null = Buffer.alloc(0);
  #uploadId: string | null = null;
  size = 0;

  constructor(client: S3Client, target: { Bucket: string; Key: string }) {
    this.#client = client;
    this.#target = target;
  }

  async add(part: Buffer): Promise<void> {
    this.size += part.length;
    if (this.size === part.length) {
      this.#first = part;
      return;
    }
    if (this.#uploadId === null) {
      const created = await this.#client.send(new CreateMultipartUploadCommand(this.#target), within(CALL_MS));
      this.#uploadId = created.UploadId!;
    }
    if (this.#first !== null) await this.#send(this.#first);
    this.#first = null;
    await this.#send(part);
  }

  async complete(): Promise<void> {
    const { Bucket, Key } = this.#target;
    if (this.#uploadId === null) {
      const put = new PutObjectCommand({ Bucket, Key, Body: this.#first!, ContentLength: this.size });
      await this.#client.send(put, within(PUBLISH_MS));
      return;
    }
    const UploadId = this.#uploadId;
    const MultipartUpload = { Parts: this.#parts };
    await this.#client.send(
      new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }),
      within(PUBLISH_MS),
    );
    this.#uploadId = null;
  }

  /** If aborting fails, `removeAbandonedUploads` removes the upload later. */
  async abort(): Promise<void> {
    this.#first = null;
    if (this.#uploadId === null) return;
    const command = new AbortMultipartUploadCommand({ ...this.#target, UploadId: this.#uploadId });
    this.#uploadId = null;
    await this.#client.send(command, within(CALL_MS)).catch(() => {});
  }

  async #send(Body: Buffer): Promise<void> {
    const PartNumber = this.#parts.length + 1;
    const { ETag } = await this.#client.send(
      new UploadPartCommand({
        ...this.#target,
        UploadId: this.#uploadId!,
        PartNumber,
        Body,
        ContentLength: Body.length,
      }),
      within(CALL_MS),
    );
    this.#parts.push({ PartNumber, ETag });
  }
}

/** Yields parts of equal length, except for the last one. */
async function* partsOf(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const piece of bytes) {
    waiting.push(piece);
    length += piece.length;
    if (length < PART_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting);
}

function within(ms: number): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(ms) };
}

function nullIfMissing(error: unknown): null {
  const { name, $metadata } = error as S3ServiceException;
  if (name === 'NoSuchKey' || name === 'NotFound' || ($metadata?.httpStatusCode === 404 && name !== 'NoSuchBucket'))
    return null;
  throw asFault(error);
}

function rethrow(error: unknown): never {
  throw asFault(error);
}

/**
 * Converts SDK errors (a server's refusal or a failed connection) to store faults. Returns any other error unchanged.
 */
function asFault(error: unknown): unknown {
  const { name, message, $metadata, code, syscall } = error as S3ServiceException & NodeJS.ErrnoException;
  const isUnreachable = NO_ANSWER.includes(name) || syscall !== undefined || NO_ANSWER.includes(code ?? '');
  if (($metadata === undefined && !isUnreachable) || error instanceof StoreFault) return error;
  return new StoreFault(`S3: ${name}: ${message}`, { isFull: FULL.includes(name), cause: error });
}

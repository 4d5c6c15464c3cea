import { computed, signal } from '@preact/signals';
import { encodePath, joinPath } from '../figures/path-bytes.js';
import { fileAddress, type Sending, sendFile } from '../graph/files.js';
import { Refusal } from '../graph/send.js';
import { sessionIsOver } from './session.js';

/** State of an upload. `taken` means that a file with the same name exists and the upload is waiting for a decision. */
export type UploadState = 'waiting' | 'sending' | 'taken' | 'done' | 'failed';

export interface Upload {
  id: number;
  instance: string;
  /** The folder's path in percent-encoded bytes. */
  folder: string;
  file: File;
  state: UploadState;
  /** Number of bytes sent by the browser. */
  sent: number;
  error: unknown;
  replaces: boolean;
}

/** Maximum concurrent uploads. A browser opens only six connections to an origin, and the page needs some of them. */
const MAX_CONCURRENT = 2;
export const MAX_UPLOADS = 200;

/** The uploads to all instances. They continue while another screen is shown. */
export const uploads = signal<readonly Upload[]>([]);
/** Counts completed uploads, because they change a folder. */
export const uploadsDone = signal(0);

const sendings = new Map<number, Sending>();
let lastId = 0;

const isInProgress = computed(() => uploads.value.some(({ state }) => state === 'waiting' || state === 'sending'));
/** Warns the user before leaving the page, because that would abort the uploads. */
isInProgress.subscribe((inProgress) => {
  if (inProgress) addEventListener('beforeunload', hold);
  else removeEventListener('beforeunload', hold);
});

function hold(event: Event): void {
  event.preventDefault();
}

/** Adds uploads. Those whose name is taken wait for a decision. Returns false if there are too many. */
export function addUploads(
  instance: string,
  folder: string,
  files: readonly File[],
  isTaken: (name: string) => boolean,
): boolean {
  if (uploads.value.length + files.length > MAX_UPLOADS) return false;
  const added = files.map((file): Upload => {
    lastId += 1;
    const state = isTaken(file.name) ? 'taken' : 'waiting';
    return { id: lastId, instance, folder, file, state, sent: 0, error: null, replaces: false };
  });
  uploads.value = [...uploads.value, ...added];
  begin();
  return true;
}

/** Sends an upload again, optionally replacing the file with the same name. */
export function sendAgain(id: number, replaces: boolean): void {
  change(id, { state: 'waiting', sent: 0, error: null, replaces });
  begin();
}

/** Removes an upload and aborts it if it is in progress. */
export function dropUpload(id: number): void {
  uploads.value = uploads.value.filter((upload) => upload.id !== id);
  sendings.get(id)?.abort();
}

export function dropDone(instance: string): void {
  uploads.value = uploads.value.filter((upload) => upload.instance !== instance || upload.state !== 'done');
}

function begin(): void {
  for (const upload of uploads.value) {
    if (sendings.size >= MAX_CONCURRENT) return;
    if (upload.state === 'waiting' && !sendings.has(upload.id)) void send(upload);
  }
}

async function send({ id, instance, folder, file, replaces }: Upload): Promise<void> {
  const address = fileAddress(instance, 'file', joinPath(folder, encodePath(file.name, false)));
  const sending = sendFile(`${address}${replaces ? '&replace=true' : ''}`, file, (sent) => change(id, { sent }));
  sendings.set(id, sending);
  change(id, { state: 'sending' });
  try {
    await sending.done;
    change(id, { state: 'done', sent: file.size });
  } catch (error) {
    // An aborted upload is no longer in the list.
    change(id, { state: 'failed', error });
    if (error instanceof Refusal && error.code === 'unauthorized') sessionIsOver();
  } finally {
    sendings.delete(id);
    uploadsDone.value += 1;
    begin();
  }
}

function change(id: number, changes: Partial<Upload>): void {
  uploads.value = uploads.value.map((upload) => (upload.id === id ? { ...upload, ...changes } : upload));
}

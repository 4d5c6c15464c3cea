import { Refusal, Unreachable } from './send.js';

/** An entry in a container's folder. */
export interface FileEntry {
  /** The name as text for display, even if its bytes are not UTF-8. */
  name: string;
  /** The name's bytes in percent-encoding, for requests. */
  encoded: string;
  /** The entry's kind. For a link, this is the kind of its target, or `link` if the target is missing. */
  kind: 'file' | 'folder' | 'link' | 'other';
  isLink: boolean;
  size: number;
  modifiedAt: string | null;
}

export interface Folder {
  entries: readonly FileEntry[];
  /** Whether the list contains all entries. */
  isWhole: boolean;
}

/** Time limit for a response. It is generous because an overloaded machine is slow. */
const ANSWERS_WITHIN_MS = 65_000;
/** The connection is considered dead if no part of an upload is accepted for this long. */
const SILENT_FOR_MS = 60_000;

/** Returns the URL of a file or folder. `path` contains percent-encoded bytes. */
export function fileAddress(instance: string, kind: 'file' | 'folder', path: string): string {
  return `/console/files/${instance}?${kind}=${path}`;
}

export const logAddress = (instance: string, hasTimes: boolean): string =>
  `/console/logs/${instance}${hasTimes ? '?times=true' : ''}`;

export async function listFolder(instance: string, path: string): Promise<Folder> {
  return (await fetchChecked('GET', fileAddress(instance, 'folder', path))).json();
}

export async function createFolder(instance: string, path: string): Promise<void> {
  await fetchChecked('POST', fileAddress(instance, 'folder', path));
}

/** Removes a file or an empty folder. */
export async function remove(instance: string, kind: 'file' | 'folder', path: string): Promise<void> {
  await fetchChecked('DELETE', fileAddress(instance, kind, path));
}

export interface Sending {
  /** Rejects with a Refusal or Unreachable, or with an AbortError after an abort. */
  done: Promise<void>;
  abort(): void;
}

/** Sends a file with XMLHttpRequest, because fetch doesn't report progress. */
export function sendFile(address: string, file: File, onSent: (bytes: number) => void): Sending {
  const request = new XMLHttpRequest();
  const done = new Promise<void>((resolve, reject) => {
    let silence = 0;
    const onProgress = () => {
      clearTimeout(silence);
      silence = window.setTimeout(() => {
        request.abort();
        reject(new Unreachable('the upload stalled'));
      }, SILENT_FOR_MS);
    };
    request.upload.onprogress = ({ loaded }) => {
      onProgress();
      onSent(loaded);
    };
    // Once everything has been sent, the machine may take as long as it needs to write the file.
    request.upload.onload = () => clearTimeout(silence);
    request.onload = () => {
      if (request.status === 201) resolve();
      else reject(refusalOf(request.status, request.responseText, request.getResponseHeader('retry-after')));
    };
    request.onerror = () => reject(new Unreachable('the upload failed'));
    request.onabort = () => reject(new DOMException('aborted', 'AbortError'));
    request.onloadend = () => clearTimeout(silence);
    request.open('PUT', address);
    onProgress();
    request.send(file);
  });
  return { done, abort: () => request.abort() };
}

async function fetchChecked(method: string, address: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, { method, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
  } catch (error) {
    throw new Unreachable(String(error));
  }
  if (response.ok) return response;
  throw refusalOf(response.status, await response.text().catch(() => ''), response.headers.get('retry-after'));
}

function refusalOf(status: number, body: string, retryAfter: string | null): Refusal | Unreachable {
  try {
    const { code, message } = (JSON.parse(body) as { error: { code: string; message: string } }).error;
    // This error has its own message, because it is the machine rather than the service that isn't responding.
    return new Refusal(
      code === 'unavailable' ? 'machine_unreachable' : code,
      message,
      retryAfter === null ? null : Number(retryAfter),
    );
  } catch {
    return new Unreachable(`the answer is ${status}`);
  }
}

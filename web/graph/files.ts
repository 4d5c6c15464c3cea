import { Refusal, Unreachable } from './send.js';

/** Something in a folder of a container. */
export interface FileEntry {
  /** As text, whatever its bytes are. */
  name: string;
  /** Its bytes, percent-encoded: what it is asked for by. */
  encoded: string;
  /** Of a link: what it leads to, `link` where that is nothing. */
  kind: 'file' | 'folder' | 'link' | 'other';
  isLink: boolean;
  size: number;
  modifiedAt: string | null;
}

export interface Folder {
  entries: readonly FileEntry[];
  /** False where there are more. */
  isWhole: boolean;
}

/** A machine that is asked too much takes its time. */
const ANSWERS_WITHIN_MS = 65_000;
/** Nothing of an upload was taken for so long: the line is dead. */
const SILENT_FOR_MS = 60_000;

/** `path` as its percent-encoded bytes. */
export function fileAddress(instance: string, kind: 'file' | 'folder', path: string): string {
  return `/console/files/${instance}?${kind}=${path}`;
}

export const logAddress = (instance: string, hasTimes: boolean): string =>
  `/console/logs/${instance}${hasTimes ? '?times=true' : ''}`;

export async function listFolder(instance: string, path: string): Promise<Folder> {
  return (await ask('GET', fileAddress(instance, 'folder', path))).json();
}

export async function makeFolder(instance: string, path: string): Promise<void> {
  await ask('POST', fileAddress(instance, 'folder', path));
}

/** A folder only if it is empty. */
export async function remove(instance: string, kind: 'file' | 'folder', path: string): Promise<void> {
  await ask('DELETE', fileAddress(instance, kind, path));
}

export interface Sending {
  /** Rejects with a Refusal, Unreachable, or, given up, with an AbortError. */
  done: Promise<void>;
  giveUp(): void;
}

/** Sends a file. XMLHttpRequest, because fetch does not say how much has been sent. */
export function sendFile(address: string, file: File, onSent: (bytes: number) => void): Sending {
  const request = new XMLHttpRequest();
  const done = new Promise<void>((resolve, reject) => {
    let silence = 0;
    const heard = () => {
      clearTimeout(silence);
      silence = window.setTimeout(() => {
        request.abort();
        reject(new Unreachable('the upload stands still'));
      }, SILENT_FOR_MS);
    };
    request.upload.onprogress = ({ loaded }) => {
      heard();
      onSent(loaded);
    };
    // From then on the machine may take as long as it needs to write it down.
    request.upload.onload = () => clearTimeout(silence);
    request.onload = () => {
      if (request.status === 201) resolve();
      else reject(refusalOf(request.status, request.responseText, request.getResponseHeader('retry-after')));
    };
    request.onerror = () => reject(new Unreachable('the upload broke off'));
    request.onabort = () => reject(new DOMException('given up', 'AbortError'));
    request.onloadend = () => clearTimeout(silence);
    request.open('PUT', address);
    heard();
    request.send(file);
  });
  return { done, giveUp: () => request.abort() };
}

async function ask(method: string, address: string): Promise<Response> {
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
    // Its own words: it is a machine that does not answer, not the service.
    return new Refusal(
      code === 'unavailable' ? 'machine_unreachable' : code,
      message,
      retryAfter === null ? null : Number(retryAfter),
    );
  } catch {
    return new Unreachable(`the answer is ${status}`);
  }
}

import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';

export interface Attachment {
  /** What the browser calls it, as bytes. */
  name: Buffer;
  /** In bytes; null where it is not known before. */
  size: bigint | null;
  type?: string;
  bytes: Readable;
}

/**
 * What a program of a renter wrote: saved by the browser and never shown, whatever it says that it is. Opened as a page of
 * this origin it could act with the session.
 */
export async function sendAttachment(request: Request, response: Response, attachment: Attachment): Promise<void> {
  const { name, size, type = 'application/octet-stream', bytes } = attachment;
  // Marks that turn the direction of text could hide how a name ends.
  response.attachment(name.toString('utf8').replace(/[\p{Cc}\p{Cf}]/gu, '_'));
  response.set({
    'Content-Type': type,
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    ...(size !== null && { 'Content-Length': String(size) }),
  });
  if (request.method === 'HEAD') {
    bytes.destroy();
    response.end();
    return;
  }
  await pipeline(bytes, response).catch(() => {
    // The connection is cut: what has come is known to be no whole file.
    response.destroy();
  });
}

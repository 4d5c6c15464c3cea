import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';

export interface Attachment {
  /** File name for the browser, as bytes. */
  name: Buffer;
  /** Size in bytes; null if unknown in advance. */
  size: bigint | null;
  type?: string;
  bytes: Readable;
}

/**
 * Sends output of a renter's program. The browser saves it and never shows it, regardless of its declared type. Opened
 * as a page of this origin, it could act with the session.
 */
export async function sendAttachment(request: Request, response: Response, attachment: Attachment): Promise<void> {
  const { name, size, type = 'application/octet-stream', bytes } = attachment;
  // Direction marks could hide how a name ends.
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
    // Cutting the connection shows that the file is incomplete.
    response.destroy();
  });
}

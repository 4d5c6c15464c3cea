import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';

export interface Attachment {
  /** The file name to send to the browser, in bytes. */
  name: Buffer;
  /** Size in bytes, or null if it isn't known in advance. */
  size: bigint | null;
  type?: string;
  bytes: Readable;
}

/**
 * Sends the output of a renter's program as a download. The browser never displays it, regardless of its declared type,
 * because a page on this origin could act with the renter's session.
 */
export async function sendAttachment(request: Request, response: Response, attachment: Attachment): Promise<void> {
  const { name, size, type = 'application/octet-stream', bytes } = attachment;
  // Bidirectional control characters could disguise the file extension.
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
    // Aborting the connection signals that the file is incomplete.
    response.destroy();
  });
}

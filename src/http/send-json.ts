import type { ServerResponse } from 'node:http';

/**
 * Sends JSON with the headers that are already set. Express's own `json` takes a tenth of the time spent on a whole
 * request.
 */
export function sendJson(response: ServerResponse, status: number, type: string, text: string): void {
  const length = Buffer.byteLength(text);
  // Node sends a string and the head in one write, but a buffer in a second one. ASCII is the same in Latin-1, which
  // Node writes without checking each character.
  const encoding = length === text.length ? 'latin1' : 'utf8';
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': length }).end(text, encoding);
}

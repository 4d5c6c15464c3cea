import type { ServerResponse } from 'node:http';

/** Sends JSON with the headers already set. Express' own `json` takes a tenth of a whole request. */
export function sendJson(response: ServerResponse, status: number, type: string, text: string): void {
  // Node sends a string in one write with the head, but a buffer in a second one.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text);
}

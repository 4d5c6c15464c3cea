import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Beside the headers that are set. Express' own `json` takes a tenth of a whole request. */
export function sendJson(response: ServerResponse, status: number, type: string, text: string): void {
  // Node writes a text together with the head, bytes apart from it.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text);
}

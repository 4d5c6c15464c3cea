import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Beside the headers that are set. Express' own `json` takes a tenth of a whole request. */
export function sendJson(response: ServerResponse, status: number, type: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
}

import { request } from 'node:http';

/** Headers that Node's HTTP server adds automatically. */
const WRITTEN_BY_NODE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

/** Sends one request on its own connection. Resolves to the response, with its body as transferred. */
export function ask(port, { method = 'GET', path, headers = {}, body }) {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const sent = request({ port, host: '127.0.0.1', method, path, headers: { ...type, ...headers } }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status, headers: byName, rawHeaders } = response;
        resolve({ status, byName, headers: ownHeaders(rawHeaders), body: Buffer.concat(parts) });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Converts a response to the form in which a peer receives it. */
export function toMessage({ status, headers, body }) {
  return { status, headers, body: body.toString('base64') };
}

/** Returns how two responses differ, ignoring their request ids, or null if they are equal. */
export function differenceOf(ours, theirs) {
  if (ours.status !== theirs.status) return `status ${ours.status} and ${theirs.status}`;
  if (!ours.body.equals(theirs.body)) return `bodies of ${ours.body.length} and ${theirs.body.length} bytes differ`;
  const [left, right] = [ours, theirs].map(({ headers }) => JSON.stringify(headers.map(withoutRequestId)));
  return left === right ? null : `headers ${left} and ${right}`;
}

/** Returns the response's own headers as alternating names and values. */
function ownHeaders(rawHeaders) {
  return rawHeaders.filter((_, index) => !WRITTEN_BY_NODE.has(rawHeaders[index - (index % 2)].toLowerCase()));
}

function withoutRequestId(text, index, headers) {
  return index % 2 === 1 && headers[index - 1].toLowerCase() === 'x-request-id' ? '' : text;
}

// A bare node:http server that writes the given bytes and as little else as possible.
// `mode` plain: the response to every request is `whole`. conditional: `unchanged` (304) when If-None-Match is `etag`.
// encoded: `compressed` when Accept-Encoding names `encoding`.
import { createServer } from 'node:http';

const LISTENERS = {
  plain:
    ({ whole }) =>
    (_request, response) =>
      write(response, whole),
  conditional:
    ({ whole, unchanged, etag }) =>
    (request, response) =>
      write(response, request.headers['if-none-match'] === etag ? unchanged : whole),
  encoded:
    ({ whole, compressed, encoding }) =>
    (request, response) =>
      write(response, request.headers['accept-encoding']?.includes(encoding) ? compressed : whole),
};

process.once('message', ({ mode, whole, unchanged, compressed, ...rest }) => {
  const bytes = { ...rest, whole: bytesOf(whole), unchanged: bytesOf(unchanged), compressed: bytesOf(compressed) };
  const server = createServer(LISTENERS[mode](bytes));
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
});

/** `headers` alternates names and values; the body arrives as base64. */
function bytesOf(answer) {
  return answer && { ...answer, body: Buffer.from(answer.body, 'base64') };
}

function write(response, { status, headers, body }) {
  response.writeHead(status, headers);
  response.end(body);
}

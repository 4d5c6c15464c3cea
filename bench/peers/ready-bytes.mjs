// A bare node:http server that does as little as possible besides writing the given bytes, depending on `mode`. `plain`
// responds to every request with `whole`. `conditional` responds with `unchanged` (304) if If-None-Match equals `etag`.
// `encoded` responds with `compressed` if Accept-Encoding names `encoding`.
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

/** Converts a response. `headers` alternates names and values, and the body arrives as base64. */
function bytesOf(answer) {
  return answer && { ...answer, body: Buffer.from(answer.body, 'base64') };
}

function write(response, { status, headers, body }) {
  response.writeHead(status, headers);
  response.end(body);
}

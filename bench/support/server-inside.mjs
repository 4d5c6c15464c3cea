// Runs inside the container. Sends as many bytes as requested, and counts the bytes received.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

const CHUNK = Buffer.alloc(65_536, 'x');

createServer((request, response) => {
  if (request.method === 'PUT') {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end(String(bytes)));
    return;
  }
  let left = Number(request.url.slice(1));
  response.setHeader('Content-Length', String(left));
  const read = function () {
    const size = Math.min(left, CHUNK.length);
    left -= size;
    this.push(size === 0 ? null : CHUNK.subarray(0, size));
  };
  new Readable({ read }).pipe(response);
}).listen(8_080);
process.on('SIGTERM', () => process.exit(0));

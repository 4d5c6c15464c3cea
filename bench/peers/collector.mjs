// Receives traces and counts the messages without storing anything.
import { createServer } from 'node:http';

let messages = 0;
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    messages += 1;
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
});

process.once('message', () => {
  process.on('message', () => process.send({ messages }));
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
});

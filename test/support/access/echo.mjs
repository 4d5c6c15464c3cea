// Sends back what it is sent, and ends its half when the other side has ended its own.
import { createServer } from 'node:net';

createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => {});
  socket.pipe(socket);
}).listen(7, '127.0.0.1');

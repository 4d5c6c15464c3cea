// Echoes its input, and ends its half once the other side has ended its own.
import { createServer } from 'node:net';

createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => {});
  socket.pipe(socket);
}).listen(7, '127.0.0.1');

// A renter's server, which runs inside the container with Node and ws copied from this computer.
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { Readable } from 'node:stream';
import { WebSocketServer } from '/app/ws/wrapper.mjs';

const CHUNK = Buffer.alloc(65_536, 'x');

const routes = {
  '/': (_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><title>from inside</title><h1>from inside</h1><script>
      fetch('/echo').then((answer) => answer.json()).then(({ headers }) => {
        document.title = 'cookie: ' + (headers.cookie ?? 'none');
      });
    </script>`);
  },
  '/echo': (request, response) => {
    const { method, url, headers, rawHeaders, httpVersion } = request;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ method, url, headers, rawHeaders, httpVersion }));
  },
  '/upload': (request, response) => {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end(String(bytes)));
  },
  '/download': (request, response) => {
    let left = Number(new URL(request.url, 'http://x').searchParams.get('bytes'));
    response.setHeader('Content-Length', String(left));
    const read = function () {
      const size = Math.min(left, CHUNK.length);
      left -= size;
      this.push(size === 0 ? null : CHUNK.subarray(0, size));
    };
    new Readable({ read }).pipe(response);
  },
  '/events': (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      response.write(`data: ${count}\n\n`);
    }, 50);
    response.on('close', () => clearInterval(timer));
  },
  '/silent-events': (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
  },
  '/cookies': (_request, response) => {
    response.setHeader('Set-Cookie', [
      'own=1; Path=/',
      'wide=1; Path=/; Domain=gpu.localhost; Secure',
      'wider=1;dOmAiN = .localhost',
      'gpu_web=stolen; Path=/',
      '__Host-console=stolen; Path=/; Secure',
    ]);
    response.setHeader('Clear-Site-Data', '"cookies"');
    response.setHeader('Connection', 'X-Hop, keep-alive');
    response.setHeader('X-Hop', 'of this connection');
    response.end('cookies');
  },
  '/half': (_request, response) => {
    response.writeHead(200, { 'Content-Length': '1000' });
    response.write('half');
    setTimeout(() => response.destroy(), 20);
  },
  '/late': (_request, response) => setTimeout(() => response.end('late'), 300),
  '/never': () => {},
  '/log': (request, response) => {
    const query = new URL(request.url, 'http://x').searchParams;
    if (query.has('out')) console.log(query.get('out'));
    if (query.has('err')) console.error(query.get('err'));
    response.end();
  },
};

const server = createServer((request, response) => {
  const route = routes[request.url.split('?')[0]];
  if (route !== undefined) return route(request, response);
  response.statusCode = 404;
  response.end('no such page inside');
});
const sockets = new WebSocketServer({ server, path: '/ws' });
sockets.on('connection', (socket, request) => {
  socket.send(JSON.stringify({ hello: request.headers }));
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});
// `ws` silently refuses upgrades to protocols other than WebSocket, so this responds to them.
server.listen(8080, () => console.log('listens'));

createServer((_request, response) => response.end('the second port')).listen(8081);

/** Responds as the first line of the request demands, which isn't always with HTTP. */
const answers = {
  '/garbage': 'this is not HTTP\r\n\r\n',
  '/stray': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged',
  '/switch': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw',
  '/two-lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\nok',
  '/long-head': `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}\r\nContent-Length: 0\r\n\r\n`,
  '/plain': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain',
};
createTcpServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (data) => {
    const path = String(data).split(' ')[1];
    if (path === '/bytes') socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${data}`);
    else socket.write(answers[path] ?? '');
  });
}).listen(8082);

process.on('SIGTERM', () => process.exit(0));

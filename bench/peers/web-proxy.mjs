// A plain reverse proxy on node:http with one server behind it. It uses persistent connections and pipes bodies.
import { Agent, createServer, request } from 'node:http';
import { pipeline } from 'node:stream';

process.once('message', ({ host, port }) => {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    const { url: path, method, headers } = incoming;
    const onward = request({ agent, host, port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      pipeline(answer, outgoing, () => {});
    });
    onward.on('error', () => outgoing.destroy());
    pipeline(incoming, onward, () => {});
  });
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
});

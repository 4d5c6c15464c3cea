import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { ask, differenceOf, toMessage } from '../support/answers.mjs';
import { inTurn, requestBytes, runLoad } from '../support/load.mjs';
import { NotSupported, startPeer } from '../support/programs.mjs';
import { CONNECTIONS } from '../support/settings.mjs';

/** The routes whose public responses are compared with a bare server that writes the same bytes. */
const ROUTES = { pricing: '/v1/gpus/pricing', offers: '/v1/offers?limit=25' };
const WORK = {
  plain: 'both write the same headers and ready bytes; only the gateway routes and logs',
  conditional: 'both compare If-None-Match with the ETag and write the same 304; only the gateway routes and logs',
  encoded: 'both write the same headers and ready compressed bytes; only the gateway routes and logs',
};
const DECODERS = { gzip: gunzipSync, br: brotliDecompressSync };

export const readyBytesCases = Object.entries(ROUTES).flatMap(([name, path]) => [
  readyBytesCase({ name, title: `GET ${path}`, work: WORK.plain, path, prepare: plain }),
  readyBytesCase({
    name: `${name}-304`,
    title: `GET ${path}, If-None-Match`,
    work: WORK.conditional,
    path,
    prepare: conditional,
  }),
  readyBytesCase({
    name: `${name}-gzip`,
    title: `GET ${path}, gzip`,
    work: WORK.encoded,
    path,
    prepare: (port) => encoded(port, path, 'gzip'),
  }),
  readyBytesCase({
    name: `${name}-br`,
    title: `GET ${path}, brotli`,
    work: WORK.encoded,
    path,
    prepare: (port) => encoded(port, path, 'br'),
  }),
]);

function readyBytesCase({ name, title, work, path, prepare }) {
  return {
    name,
    title,
    work,
    against: 'node:http, same bytes',
    atLeast: 0.6,
    unit: 'requests/s',
    open: async ({ gateway }) => {
      const { headers, status, config } = await prepare(gateway.port, path);
      const peer = await startPeer('ready-bytes', config);
      const ours = await ask(gateway.port, { path, headers });
      const theirs = await ask(peer.port, { path, headers });
      const difference = ours.status === status ? differenceOf(ours, theirs) : `status ${ours.status}`;
      const clientOf = inTurn([requestBytes({ path, headers })]);
      const load = (port) => (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf, status });
      return {
        difference,
        subject: { pid: gateway.pid, run: load(gateway.port) },
        peer: { pid: peer.pid, run: load(peer.port) },
        close: () => peer.end(),
      };
    },
  };
}

async function plain(port, path) {
  const whole = await ask(port, { path });
  return { headers: {}, status: 200, config: { mode: 'plain', whole: toMessage(whole) } };
}

async function conditional(port, path) {
  const whole = await ask(port, { path });
  const { etag } = whole.byName;
  if (etag === undefined) throw new NotSupported('the answer has no ETag');
  const headers = { 'If-None-Match': etag };
  const unchanged = await ask(port, { path, headers });
  if (unchanged.status !== 304) throw new NotSupported(`If-None-Match yields status ${unchanged.status}`);
  const config = { mode: 'conditional', etag, whole: toMessage(whole), unchanged: toMessage(unchanged) };
  return { headers, status: 304, config };
}

async function encoded(port, path, encoding) {
  const whole = await ask(port, { path });
  const headers = { 'Accept-Encoding': encoding };
  const compressed = await ask(port, { path, headers });
  if (compressed.byName['content-encoding'] !== encoding)
    throw new NotSupported(`the response is not encoded as ${encoding}`);
  if (!DECODERS[encoding](compressed.body).equals(whole.body)) throw new Error(`${encoding} decodes to another text`);
  const config = { mode: 'encoded', encoding, whole: toMessage(whole), compressed: toMessage(compressed) };
  return { headers, status: 200, config };
}

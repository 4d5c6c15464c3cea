import { createServer } from 'node:net';
import { ask, differenceOf } from '../support/answers.mjs';
import { ACCOUNTS } from '../support/default-data.mjs';
import { inTurn, requestBytes, runLoad } from '../support/load.mjs';
import { cpuSecondsOf, startGateway, startPeer } from '../support/programs.mjs';
import { CONNECTIONS } from '../support/settings.mjs';
import { authorization } from './accounts.mjs';
import { graphqlRequest, readOffers, VARIED, variableSets } from './offers.mjs';

const OFFERS = '/v1/offers?limit=25';
const VARIABLE_SETS = 10_000;
/** Scrape interval, a tenth of that in Prometheus's sample configuration. */
const SCRAPE_EVERY_MS = 1_500;
const SCRAPES = 100;
const RATIO = '0.1';

/** The requests sent to both sides. */
const LOADS = {
  offers: { title: `GET ${OFFERS}`, requests: async () => [requestBytes({ path: OFFERS })] },
  balance: {
    title: 'GET /v1/balance',
    requests: async () =>
      Array.from({ length: ACCOUNTS }, (_, index) =>
        requestBytes({ path: '/v1/balance', headers: authorization(index + 1) }),
      ),
  },
  graphql: {
    title: 'POST /graphql, variables differ',
    requests: async (databaseUrl) =>
      variableSets(await readOffers(databaseUrl), VARIABLE_SETS).map((variables) =>
        graphqlRequest({ query: VARIED, variables }),
      ),
  },
};

/** Measures the cost of metrics and of traces, by comparing a gateway that produces them with one that doesn't. */
export const figuresCases = Object.entries(LOADS).flatMap(([load, { title, requests }]) => [
  {
    name: `metrics-${load}`,
    title: `${title}, metrics`,
    work: 'two gateways answer the same requests; only the measured one counts metrics and is scraped',
    against: 'the gateway, no metrics',
    atLeast: 0.95,
    unit: 'requests/s',
    open: (context) => openCase(context, requests, withMetrics),
  },
  {
    name: `traces-${load}`,
    title: `${title}, 10 % traced`,
    work: 'two gateways answer the same requests; only the measured one records traces and sends them to a collector',
    against: 'the gateway, no traces',
    atLeast: 0.9,
    unit: 'requests/s',
    open: (context) => openCase(context, requests, withTraces),
  },
]);

async function openCase({ gateway, databaseUrl }, requests, start) {
  const { watched, note, close } = await start(databaseUrl);
  const [ours, theirs] = await Promise.all([watched, gateway].map(({ port }) => ask(port, { path: OFFERS })));
  const clientOf = inTurn(await requests(databaseUrl));
  const load = (port) => (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf });
  return {
    difference: differenceOf(ours, theirs),
    note,
    subject: { pid: watched.pid, run: load(watched.port) },
    peer: { pid: gateway.pid, run: load(gateway.port) },
    close,
  };
}

async function withMetrics(databaseUrl) {
  const port = await freePort();
  const watched = await startGateway(databaseUrl, { METRICS_PORT: String(port) });
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  // Sends a request before counting lines, so that the scrape already contains the route's and the database's metrics.
  await ask(watched.port, { path: OFFERS });
  const lines = (await scrape()).split('\n').length;
  const cpuBefore = cpuSecondsOf(watched.pid);
  for (let time = 0; time < SCRAPES; time += 1) await scrape();
  const cpuMs = ((cpuSecondsOf(watched.pid) - cpuBefore) / SCRAPES) * 1_000;
  const scraping = setInterval(() => scrape().catch(() => {}), SCRAPE_EVERY_MS);
  return {
    watched,
    note: `scraped every ${SCRAPE_EVERY_MS / 1_000} s; a scrape of ${lines} lines took ${cpuMs.toFixed(1)} ms of CPU time`,
    close: async () => {
      clearInterval(scraping);
      await watched.end();
    },
  };
}

async function withTraces(databaseUrl) {
  const collector = await startPeer('collector', {}, { isPinned: false });
  const watched = await startGateway(databaseUrl, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: RATIO,
  });
  return {
    watched,
    close: async () => {
      await watched.end();
      const { messages } = await collector.ask({});
      if (messages === 0) throw new Error('no trace was sent');
      await collector.end();
    },
  };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

import { rentalsOf } from '../support/default-data.mjs';
import { runLoad } from '../support/load.mjs';
import { mixedClients } from '../support/mixed-load.mjs';
import { residentMegabytesOf, startGateway } from '../support/programs.mjs';
import { CONNECTIONS, settings } from '../support/settings.mjs';

/** Number of connections that rent. All others only read. */
const RENTING = 4;
/**
 * Accepted status codes. An overloaded gateway may reject requests and therefore the steps that depend on them. The
 * report includes how many.
 */
const EXPECTED = [200, 201, 409, 503];

/** Measures the resident memory of a freshly started gateway after a load on every route. */
export const memoryCases = [
  memoryCase({ name: 'memory', title: 'memory, default data', data: 'freshUrl', atMostMegabytes: 250 }),
  memoryCase({
    name: 'memory-100000',
    title: 'memory, 100,000 machines',
    data: 'manyMachinesUrl',
    atMostMegabytes: 400,
  }),
  memoryCase({
    name: 'memory-slices',
    title: 'memory, 100,000 hosts of eight',
    data: 'manyHostsUrl',
    atMostMegabytes: 500,
  }),
];

function memoryCase({ name, title, data, atMostMegabytes }) {
  return {
    name,
    title,
    work: 'the gateway only: every route is called on 32 connections, 4 of which rent',
    against: `RSS after ${settings.memorySeconds} s of load`,
    atMostMegabytes,
    weigh: async (context) => {
      const url = await context[data]();
      const gateway = await startGateway(url);
      try {
        const startMegabytes = residentMegabytesOf(gateway.pid);
        const clientOf = await mixedClients(url, (await rentalsOf(url)).slice(0, RENTING));
        const { port, pid } = gateway;
        const seconds = settings.memorySeconds;
        const { statuses } = await runLoad({ port, connections: CONNECTIONS, seconds, clientOf, status: EXPECTED });
        const unavailable = statuses[503] ?? 0;
        const note = unavailable > 0 ? `${unavailable} responses were 503: ${JSON.stringify(statuses)}` : '';
        return { megabytes: residentMegabytesOf(pid), startMegabytes, statuses, note };
      } finally {
        await gateway.end();
      }
    },
  };
}

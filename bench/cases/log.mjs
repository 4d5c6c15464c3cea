import { ask, differenceOf } from '../support/answers.mjs';
import { inTurn, requestBytes, runLoad } from '../support/load.mjs';
import { startGateway } from '../support/programs.mjs';
import { CONNECTIONS } from '../support/settings.mjs';

const PATH = '/v1/offers?limit=25';

/**
 * Measures the cost of logging a line per request by comparing a gateway that writes the default log to a file with one
 * that logs nothing.
 */
export const logCases = [
  {
    name: 'log',
    title: `GET ${PATH}, default log`,
    work: 'two gateways return the same offers; only the measured one writes a log line per request',
    against: 'the gateway, log off',
    atLeast: 0.85,
    unit: 'requests/s',
    open: async ({ gateway, databaseUrl }) => {
      const silent = await startGateway(databaseUrl, { LOG_LEVEL: 'silent' });
      const [ours, theirs] = await Promise.all([gateway, silent].map(({ port }) => ask(port, { path: PATH })));
      const clientOf = inTurn([requestBytes({ path: PATH })]);
      const load = (port) => (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf });
      return {
        difference: differenceOf(ours, theirs),
        subject: { pid: gateway.pid, run: load(gateway.port) },
        peer: { pid: silent.pid, run: load(silent.port) },
        close: () => silent.end(),
      };
    },
  },
];

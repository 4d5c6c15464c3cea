import { runLoad } from './load.mjs';
import { startGateway } from './programs.mjs';

/**
 * Long enough for more than five executions, after which PostgreSQL may switch a prepared statement to a generic plan.
 */
const SECONDS = 1;
const SETTINGS = [
  'session_preload_libraries = auto_explain',
  'auto_explain.log_min_duration = 0',
  'auto_explain.log_analyze = on',
  'auto_explain.log_buffers = on',
];
const ENTRY = /^\d{4}-\d\d-\d\d .*? LOG: {2}/m;

/** Returns the plans of a route's statements as text, each from its last execution. */
export async function plansOf({ server, database, side, route }) {
  for (const setting of SETTINGS) await server.alter(database, `set ${setting}`);
  const gateway = await startGateway(server.urlOf(database));
  const before = server.log().length;
  const { port } = gateway;
  const clientOf = route.clientOf({ ...side, port }, () => {});
  await runLoad({ port, connections: 1, seconds: SECONDS, clientOf, status: [200, 201, 503] });
  await gateway.end();
  await server.alter(database, 'reset all');
  const entries = server.log().slice(before).split(ENTRY);
  const plans = new Map();
  for (const entry of entries) {
    const statement = /plan:\n\tQuery Text: ([\s\S]*?)\n\t(?:Query Parameters|\S.*\(cost=)/.exec(entry)?.[1];
    if (statement !== undefined) plans.set(statement, entry);
  }
  const count = `${plans.size} statements of ${route.name}, each with its last execution\n`;
  return [count, ...plans.values()].join('\n');
}

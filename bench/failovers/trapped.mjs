// Clients that are isolated together with a former primary. They write directly into PostgreSQL, and deploy with a
// gateway that only reaches this PostgreSQL, until standard input ends. Then prints which writes were acknowledged.
import pg from 'pg';

const WRITE_EVERY_MS = 500;
const CONNECTS_WITHIN_MS = 3_000;
const { url, address, port, key, machineIds, name } = JSON.parse(process.argv[2]);
const acknowledged = { sql: [], gateway: [] };
const refusals = {};
let attempts = 0;

/** Starts a write without waiting for it, because it may never end. */
function attempt(work) {
  attempts += 1;
  work().catch((error) => {
    const why = String(error.code ?? error.message);
    refusals[why] = (refusals[why] ?? 0) + 1;
  });
}

async function insert(id) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECTS_WITHIN_MS });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('insert into bench.trapped_write values ($1)', [id]);
    acknowledged.sql.push(id);
  } finally {
    await client.end();
  }
}

async function deploy(n) {
  const answer = await fetch(`http://${address}:${port}/v1/instances`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      'idempotency-key': `${name}-${n}`,
    },
    body: JSON.stringify({ machine_id: machineIds[n % machineIds.length], disk_gb: 50 }),
  });
  if (answer.status === 201) acknowledged.gateway.push((await answer.json()).id);
  else throw new Error(`HTTP ${answer.status}`);
}

let n = 0;
const timer = setInterval(() => {
  n += 1;
  attempt(() => insert(`${name}-${n}`));
  attempt(() => deploy(n));
}, WRITE_EVERY_MS);
process.stdin.resume().on('end', () => {
  clearInterval(timer);
  console.log(JSON.stringify({ attempts, acknowledged, refusals }));
  process.exit();
});

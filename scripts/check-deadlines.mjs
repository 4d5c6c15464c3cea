// node --expose-gc scripts/check-deadlines.mjs
// Checks that a host agent times out while polling a gateway that never responds, even if all garbage is collected in
// the meantime. Node 20 collects a timeout that only an AbortSignal.any() refers to.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gateway } from '../dist/src/agent/gateway.js';

const WITHIN_MS = 1_000;
const LATEST_MS = 5_000;

const server = createServer(() => {});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const gateway = new Gateway(`http://127.0.0.1:${server.address().port}`, 'token', WITHIN_MS);

const begunAt = performance.now();
const asked = gateway.report({}, new AbortController().signal).then(
  () => 'answered',
  (error) => error.kind,
);
const late = sleep(LATEST_MS, 'still waiting', { ref: false });
const collecting = setInterval(() => globalThis.gc(), 50);
const outcome = await Promise.race([asked, late]);
clearInterval(collecting);
assert.equal(outcome, 'unreachable');
console.log(`Node ${process.version}: timed out after ${Math.round(performance.now() - begunAt)} ms`);
server.closeAllConnections();
server.close();

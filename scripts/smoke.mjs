// node scripts/smoke.mjs FOLDER    starts the built gateway on the current Node, makes one rental and ends both
// If FOLDER doesn't exist yet, the gateway creates it on this first start, and later runs use its data.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withGateway } from './fresh-gateway.mjs';

const folder = process.argv[2];
const keyFile = join(folder, 'demo-key');
const isFirst = !existsSync(folder);

async function rentOnce({ address, key }) {
  if (isFirst) writeFileSync(keyFile, key, { mode: 0o600 });
  const call = async (path, options = {}) => {
    const headers = { Authorization: `Bearer ${readFileSync(keyFile, 'utf8')}` };
    const response = await fetch(`${address}${path}`, { ...options, headers });
    const body = await response.json();
    assert.ok(response.ok, `${path} returned ${response.status}: ${JSON.stringify(body)}`);
    return body;
  };
  const before = await call('/v1/balance');
  const { data: offers } = await call('/v1/offers?gpu=rtx-4090&limit=1');
  assert.equal(offers.length, 1);
  const body = JSON.stringify({ machine_id: offers[0].machine_id, disk_gb: 50 });
  const instance = await call('/v1/instances', { method: 'POST', body });
  assert.equal(instance.status, 'running');
  assert.equal(instance.price_hr, offers[0].price_per_hour.on_demand);
  const active = await call('/v1/instances');
  assert.deepEqual(active.data, [instance]);
  // Billing counts whole seconds, so the rental costs nothing until one has passed.
  await sleep(1_100);
  const destroyed = await call(`/v1/instances/${instance.id}`, { method: 'DELETE' });
  assert.equal(destroyed.status, 'destroyed');
  const after = await call('/v1/balance');
  assert.ok(after.month_spend > before.month_spend, 'the rental is charged');
  assert.equal((after.balance + after.month_spend).toFixed(6), '100.000000');
}

await withGateway(folder, rentOnce);
console.log(`Node ${process.version}: completed one rental`);

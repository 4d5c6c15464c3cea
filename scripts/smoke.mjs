// node scripts/smoke.mjs    starts the built gateway by the Node that runs this, makes one rental and ends both
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { withFreshGateway } from './fresh-gateway.mjs';

async function rentOnce({ address, key }) {
  const call = async (path, options = {}) => {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${address}${path}`, { ...options, headers });
    const body = await response.json();
    assert.ok(response.ok, `${path} answers ${response.status}: ${JSON.stringify(body)}`);
    return body;
  };
  const { data: offers } = await call('/v1/offers?gpu=rtx-4090&limit=1');
  assert.equal(offers.length, 1);
  const body = JSON.stringify({ machine_id: offers[0].machine_id, disk_gb: 50 });
  const instance = await call('/v1/instances', { method: 'POST', body });
  assert.equal(instance.status, 'running');
  assert.equal(instance.price_hr, offers[0].price_per_hour.on_demand);
  const active = await call('/v1/instances');
  assert.deepEqual(active.data, [instance]);
  // Billing counts whole seconds: one must pass for the rental to cost something.
  await sleep(1_100);
  const destroyed = await call(`/v1/instances/${instance.id}`, { method: 'DELETE' });
  assert.equal(destroyed.status, 'destroyed');
  const { balance, month_spend: spend } = await call('/v1/balance');
  assert.ok(spend > 0, 'the rental is charged');
  assert.equal((balance + spend).toFixed(6), '100.000000');
}

await withFreshGateway(rentOnce);
console.log(`Node ${process.version}: one rental made and ended`);

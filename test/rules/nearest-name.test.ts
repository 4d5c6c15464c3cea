import { expect, it } from 'vitest';
import { nearestName } from '../../src/std/nearest-name.js';

const OFFERS = ['gpu', 'region', 'num_min', 'price_max', 'limit'];
const DEPLOY = ['machine_id', 'template', 'disk_gb', 'type', 'name', 'env', 'stop_at', 'spend_limit', 'tcp_ports'];

it.each([
  [OFFERS, 'num_gpus', 'num_min'],
  [OFFERS, 'max_price', 'price_max'],
  [OFFERS, 'priceMax', 'price_max'],
  [OFFERS, 'gpu_name', 'gpu'],
  [OFFERS, 'GPU', 'gpu'],
  [OFFERS, 'regions', 'region'],
  [OFFERS, 'LIMIT', 'limit'],
  [DEPLOY, 'machineId', 'machine_id'],
  [DEPLOY, 'diskGb', 'disk_gb'],
  [DEPLOY, 'disk-size-gb', 'disk_gb'],
  [DEPLOY, 'stopAt', 'stop_at'],
  [DEPLOY, 'envs', 'env'],
  [DEPLOY, 'xyzzy', null],
  [DEPLOY, '', null],
  [DEPLOY, '__proto__', null],
  [[], 'gpu', null],
])('of the names %j, the nearest to %s is %s', (known, given, nearest) => {
  expect(nearestName(given, known)).toBe(nearest);
});

it('overlong names are not compared', () => {
  expect(nearestName('disk_gb'.repeat(10_000), ['disk_gb'])).toBeNull();
});

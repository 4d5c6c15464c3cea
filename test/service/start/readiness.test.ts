import { expect, it } from 'vitest';
import { startGateway } from '../../support/gateway.js';
import { query } from '../../support/process.js';

it('a gateway is not ready while its database is unreachable, but then recovers', async () => {
  const gateway = await startGateway();
  const name = new URL(gateway.databaseUrl).pathname.slice(1);
  const status = async (path: string) => (await fetch(`${gateway.address}/${path}`)).status;
  const server = new URL(gateway.databaseUrl);
  server.pathname = '/postgres';
  await query(server.href, `alter database ${name} allow_connections false`);
  await query(server.href, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  await expect.poll(() => status('readyz')).toBe(503);
  const notReady = await fetch(`${gateway.address}/readyz`);
  expect(await notReady.json()).toEqual({ status: 'not ready', database: 'away' });
  expect(await status('healthz')).toBe(200);
  const refused = await fetch(`${gateway.address}/v1/gpus/pricing`);
  expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
  await query(server.href, `alter database ${name} allow_connections true`);
  await expect.poll(() => status('readyz')).toBe(200);
  await gateway.close();
});

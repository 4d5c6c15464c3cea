import { describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { markUnreachable } from '../../../src/domain/fleet/heartbeats.js';
import { settleService } from '../../../src/domain/fleet/service-credits.js';
import { seen } from '../../support/agent.js';
import { createTestDatabase } from '../../support/database.js';
import { connect, query, waiters } from '../../support/process.js';
import { allCaughtUp, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const MACHINES = 3;

describe('two gateways', () => {
  test('book each credit only once, even if they book the same outage concurrently', { timeout: 60_000 }, async () => {
    const databaseUrl = await createTestDatabase();
    const gateways = [await startService({ databaseUrl }), await startService({ databaseUrl })];
    try {
      const [first, second] = gateways as [(typeof gateways)[0], (typeof gateways)[0]];
      const renter = await first.renter('1000');
      const rented: { agent: WireAgent; id: string }[] = [];
      for (let index = 0; index < MACHINES; index += 1) {
        const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
        const agent = await WireAgent.join(first.address, (await enrol(first.deps, input)).code);
        await agent.report();
        await first.deps.fleet.heartbeats.flush();
        await allCaughtUp(gateways);
        const { body } = await renter.rest('POST', '/instances', { machine_id: agent.machineId });
        await agent.desired();
        await agent.report([seen(body.id, 'RUNNING')]);
        rented.push({ agent, id: body.id });
      }
      await first.deps.fleet.heartbeats.flush();
      for (const { clock } of gateways) clock.advance(500);
      await Promise.all(gateways.map(({ deps }) => markUnreachable(deps.db, deps.clock.now())));
      await allCaughtUp(gateways);

      // While a third session locks the account, both gateways find the same outages and wait to book them.
      const holder = await connect(databaseUrl);
      await holder.query('begin');
      await holder.query('select 1 from account where id = $1 for update', [renter.accountId]);
      for (const { agent, id } of rented) await agent.report([seen(id, 'RUNNING')]);
      await first.deps.fleet.heartbeats.flush();
      const booked = Promise.all(gateways.map(({ deps }) => settleService(deps)));
      await expect.poll(() => waiters(holder), { timeout: 10_000 }).toBeGreaterThanOrEqual(gateways.length);
      await holder.query('rollback');
      await holder.end();
      await booked;
      await Promise.all(gateways.map(({ deps }) => settleService(deps)));

      const lines = await query(
        databaseUrl,
        `select instance_id as id, units::text, note from ledger_entry where kind = 'SERVICE_CREDIT' order by ledger_entry.id`,
      );
      const rates = await query(databaseUrl, 'select id, gpu_rate, disk_rate from instance order by id');
      expect(rates).toHaveLength(MACHINES);
      expect(lines).toEqual(
        rates.flatMap(({ id, gpu_rate, disk_rate }) => [
          { id, units: String(500n * BigInt(gpu_rate as string)), note: 'GPU, 500 s: the machine was unreachable' },
          { id, units: String(500n * BigInt(disk_rate as string)), note: 'disk, 500 s: the machine was unreachable' },
        ]),
      );
      expect(await query(databaseUrl, 'select 1 from machine_outage where not settled')).toEqual([]);
      expect((await audit(second.deps)).findings).toEqual([]);
    } finally {
      for (const gateway of gateways) await gateway.close();
    }
  });
});

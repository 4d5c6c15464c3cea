import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { startGateway, type TestGateway } from '../../support/gateway.js';
import { randomHistories } from '../../support/long.js';

const RUNS = 12;
const ACCOUNTS = 4;
const BATCHES = 6;

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

const account = fc.nat({ max: ACCOUNTS - 1 });
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('deploy' as const),
      account,
      machine: fc.nat({ max: 2 }),
      mode: fc.constantFrom('ON_DEMAND' as const, 'INTERRUPTIBLE' as const, 'RESERVED' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('START' as const, 'STOP' as const, 'DESTROY' as const),
      account,
      pick: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('credit' as const), account }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), account }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
);
const batch = fc.record({
  seconds: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 5_000, max: 800_000 })),
  commands: fc.array(command, { minLength: 8, maxLength: 16 }),
});

test('the books stay correct through bursts of concurrent commands', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: BATCHES, maxLength: BATCHES }), async (batches) => {
      const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => domain.account('3')));
      const machines = await Promise.all(['rtx-4090', 'l4', 'p4'].map((gpu) => domain.machine(gpu)));
      for (const { seconds, commands } of batches) {
        domain.clock.advance(seconds);
        const ids = await domain.db.prisma.instance.findMany({ where: { accountId: { in: accounts } } });
        await Promise.all(
          commands.map(async (step) => {
            if (step.do === 'sweep') return settleDue(domain);
            const accountId = accounts[step.account]!;
            if (step.do === 'read') return readBalance(domain, accountId);
            if (step.do === 'credit') return creditAccount(domain, accountId, { amountMicro: 2_000_000n });
            if (step.do === 'deploy') {
              const { mode, machine } = step;
              return allowRefusal(deploy(domain, accountId, { machineId: machines[machine]!, mode, diskGb: 3 }));
            }
            const own = ids.filter((instance) => instance.accountId === accountId);
            const id = own[step.pick % Math.max(own.length, 1)]?.id;
            return id && allowRefusal(act(domain, accountId, { id, action: step.do }));
          }),
        );
        expect((await audit(domain)).findings).toEqual([]);
      }
    }),
    { ...randomHistories(RUNS), verbose: 1 },
  );
});

async function allowRefusal(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    const refused = error instanceof DomainError && ['deploy_failed', 'action_failed'].includes(error.code);
    if (!refused) throw error;
  });
}

test('an exhausted account is settled even if no client reads it', async () => {
  const gateway: TestGateway = await startGateway();
  try {
    const renter = await gateway.renter('2');
    const offers = await renter.rest('GET', '/offers?limit=1');
    const { body } = await renter.rest('POST', '/instances', { machine_id: offers.body.data[0].machine_id });
    gateway.clock.advance(30 * 86_400);
    await expect
      .poll(() => gateway.deps.db.prisma.instance.findUnique({ where: { id: body.id } }), {
        timeout: 30_000,
        interval: 100,
      })
      .toMatchObject({ status: 'DESTROYED', stopReason: 'BALANCE_EXHAUSTED' });
  } finally {
    await gateway.close();
  }
});

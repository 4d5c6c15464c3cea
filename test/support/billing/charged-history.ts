import { deploy } from '../../../src/domain/instances/instances.js';
import { seen, TestAgent, tick } from '../agent.js';
import type { TestDomain } from '../domain.js';
import { runProofHistory } from '../proofs/history.js';

/**
 * Runs four months with all kinds of charges and refunds. Returns the accounts, of which the third has outages and the
 * last has no charges.
 */
export async function runChargedHistory(domain: TestDomain): Promise<string[]> {
  return [...(await runProofHistory(domain)), await runOutages(domain), await domain.account('1')];
}

/** Runs an outage that begins in December and ends in January, and one in January. Returns the account. */
async function runOutages(domain: TestDomain): Promise<string> {
  domain.clock.set('2027-12-31T23:54:00Z');
  const account = await domain.account('100');
  const agent = await TestAgent.join(domain);
  const labels = { team: 'ml', note: '=1+1 "quoted"' };
  const launch = { launch: { name: 'train' }, labels };
  const { id } = (await deploy(domain, account, { machineId: agent.machineId, diskGb: 33, ...launch })).instance;
  await agent.fetch();
  for (const seconds of [0, 30, 600, 30, 90, 30]) {
    domain.clock.advance(seconds);
    await agent.report([seen(id, 'RUNNING')]);
    await tick(domain);
  }
  return account;
}

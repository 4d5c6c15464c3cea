import type { TestAgent } from '../agent.js';
import type { TestDomain } from '../domain.js';

/** Returns the instances of the agent's document, each with its phase. */
export const phases = async (agent: TestAgent) => (await agent.fetch()).instances.map(({ id, phase }) => [id, phase]);

/** Returns what was credited to an account for gaps in service, oldest first. */
export async function creditsOf({ db }: TestDomain, accountId: string) {
  const entries = await db.prisma.ledgerEntry.findMany({
    where: { accountId, kind: 'SERVICE_CREDIT' },
    orderBy: { id: 'asc' },
  });
  return entries.map(({ id, units, note }) => [id.split('/').slice(1).join('/'), units, note]);
}

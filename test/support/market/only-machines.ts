import type { Deps } from '../../../src/compose/deps.js';

export interface Like {
  id: string;
  gpu?: string;
  region?: string;
  numGpus?: number;
  diskGb?: number;
  reliability?: number;
}

/** Replaces the seed's machines with these. */
export async function onlyMachines({ db }: Pick<Deps, 'db'>, machines: readonly Like[]): Promise<void> {
  await db.pool.query(`update machine set state = 'RETIRED'`);
  const like = await db.prisma.machine.findFirstOrThrow({ where: { gpu: 'rtx-4090' }, orderBy: { id: 'asc' } });
  const plain = {
    ...like,
    hostId: '',
    state: 'LISTED' as const,
    region: 'us-tx',
    numGpus: 1,
    diskGb: 1_000,
    reliability: 0.99,
  };
  await db.prisma.machine.createMany({ data: machines.map((machine) => ({ ...plain, ...machine })) });
  await db.notices.caughtUp();
}

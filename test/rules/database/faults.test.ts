import { describe, expect, it } from 'vitest';
import { isUnavailable } from '../../../src/database/faults.js';

/** An error as Prisma reports one of PostgreSQL's that it has no code for. */
const prismaError = (state: string) =>
  Object.assign(
    new Error(`\nInvalid \`prisma.account.findUnique()\` invocation:\n\nDatabase error. Code: \`${state}\`.`),
    {
      code: 'P2039',
    },
  );

describe('the database counts as unavailable', () => {
  it.each(['57P01', '57P03', '25006', '08006'])('if Prisma reports %s', (state) => {
    expect(isUnavailable(prismaError(state))).toBe(true);
  });

  it('if a new connection is not established in time', () => {
    expect(isUnavailable(new Error('timeout expired'))).toBe(true);
  });

  it('but not if Prisma reports a wrong value', () => {
    expect(isUnavailable(prismaError('22003'))).toBe(false);
  });
});

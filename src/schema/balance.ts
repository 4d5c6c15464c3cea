import { type Balance, readBalance } from '../domain/balance.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const BalanceType = builder.objectRef<Balance>('Balance').implement({
  description: "The account's credit and spend, right to the second.",
  fields: (t) => ({
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    balance: t.expose('balance', {
      type: 'USD',
      description: 'Credit left. Below zero only by the disks of stopped instances.',
    }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
  }),
});

builder.queryFields((t) => ({
  balance: t.field({
    type: BalanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Credit balance and spend of this month. Needs an API key.',
    resolve: (_root, _args, context) => readBalance(context.deps, accountOf(context)),
  }),
}));

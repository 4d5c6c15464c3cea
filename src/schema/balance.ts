import { type Balance, readBalance } from '../domain/billing/balance.js';
import { balanceChanges } from '../domain/updates/change-streams.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';

const BalanceType = builder.objectRef<Balance>('Balance').implement({
  description: "The account's credit and spend, right to the second.",
  fields: (t) => ({
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    balance: t.expose('balance', {
      type: 'USD',
      description: 'Credit left. Below zero only by the disks of stopped instances.',
    }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'All GPU and disk rates being paid now, USD per hour: how fast the balance goes down.',
    }),
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

builder.subscriptionFields((t) => ({
  balanceChanged: t.field({
    type: BalanceType,
    ...NEEDS_KEY,
    description:
      'The balance now, and again each time credit or burn changes; not as time passes: in between it goes down by burnPerHour. Needs an API key.',
    subscribe: (_root, _args, context) => balanceChanges(context.deps, callerOf(context), context.untilGone()),
    resolve: (balance) => balance,
  }),
}));

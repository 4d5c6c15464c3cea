import { type Balance, readBalance } from '../domain/billing/balance.js';
import { balanceChanges } from '../domain/updates/change-streams.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';

export const EXHAUSTS_AT = {
  type: 'DateTime',
  nullable: true,
  description:
    "The second in which credit runs out at the current burn, or ran out. All running instances stop then. Null if it won't run out.",
} as const;

export const DISK_DELETE_AT = {
  type: 'DateTime',
  nullable: true,
  description:
    'End of the grace period after exhaustsAt. Instances are destroyed and volumes deleted then unless credit is added before.',
} as const;

const BalanceType = builder.objectRef<Balance>('Balance').implement({
  description: "The account's credit and spend, accurate to the second.",
  fields: (t) => ({
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    balance: t.expose('balance', {
      type: 'USD',
      description: 'Remaining credit. Only the disks of stopped instances and volumes can take it below zero.',
    }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description:
        'Sum of all GPU, disk and volume rates being paid now, in USD per hour. The balance falls at this rate.',
    }),
    exhaustsAt: t.expose('exhaustsAt', EXHAUSTS_AT),
    diskDeleteAt: t.expose('diskDeleteAt', DISK_DELETE_AT),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second to which all figures refer.' }),
  }),
});

builder.prismaObjectField(InstanceType, 'balance', (t) =>
  t.field({
    type: BalanceType,
    description:
      'Current balance and burn of the account that pays for the instance. In the response to deploy and action, this includes their effect.',
    select: { accountId: true },
    resolve: (instance, _args, context) => {
      // An instance is only ever shown to its owner. This check prevents a bug from disclosing the owner's money to
      // anyone else.
      if (instance.accountId !== accountOf(context)) throw new Error('the instance belongs to another account');
      return readBalance(context.deps, instance.accountId);
    },
  }),
);

builder.queryFields((t) => ({
  balance: t.field({
    type: BalanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Credit balance and spend this month. Needs an API key.',
    resolve: (_root, _args, context) => readBalance(context.deps, accountOf(context)),
  }),
}));

builder.subscriptionFields((t) => ({
  balanceChanged: t.field({
    type: BalanceType,
    ...NEEDS_KEY,
    description:
      'The balance now, and again after each change of credit or burn. The passing of time alone sends no event: between events, the balance falls at burnPerHour. Needs an API key.',
    subscribe: (_root, _args, context) => balanceChanges(context.deps, callerOf(context), context.untilGone()),
    resolve: (balance) => balance,
  }),
}));

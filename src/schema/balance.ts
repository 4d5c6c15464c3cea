import { type Balance, readBalance } from '../domain/billing/balance.js';
import { balanceChanges } from '../domain/updates/change-streams.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';

export const EXHAUSTS_AT = {
  type: 'DateTime',
  nullable: true,
  description:
    'When credit runs out at the present burn, or ran out: all running instances stop then. Null when it never will.',
} as const;

export const DISK_DELETE_AT = {
  type: 'DateTime',
  nullable: true,
  description:
    'When instances are destroyed and volumes deleted unless credit is added before: the end of the grace period after exhaustsAt.',
} as const;

const BalanceType = builder.objectRef<Balance>('Balance').implement({
  description: "The account's credit and spend, accurate to the second.",
  fields: (t) => ({
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    balance: t.expose('balance', {
      type: 'USD',
      description: 'Credit left. Only the disks of stopped instances, and volumes, can take it below zero.',
    }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'The sum of all GPU, disk and volume rates paid now, in USD per hour: how fast the balance falls.',
    }),
    exhaustsAt: t.expose('exhaustsAt', EXHAUSTS_AT),
    diskDeleteAt: t.expose('diskDeleteAt', DISK_DELETE_AT),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second that all figures are of.' }),
  }),
});

builder.prismaObjectField(InstanceType, 'balance', (t) =>
  t.field({
    type: BalanceType,
    description:
      'Balance and burn of the account that pays for it, as they are now: in the answer of deploy and action, after what they did.',
    select: { accountId: true },
    resolve: (instance, _args, context) => {
      // An instance is only ever shown to its owner; were it otherwise, this would show the owner's money.
      if (instance.accountId !== accountOf(context)) throw new Error('an instance of another account');
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
      'The balance now, and again each time credit or burn changes. The mere passing of time is no event: between events the balance falls by burnPerHour. Needs an API key.',
    subscribe: (_root, _args, context) => balanceChanges(context.deps, callerOf(context), context.untilGone()),
    resolve: (balance) => balance,
  }),
}));

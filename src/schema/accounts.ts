import { type AccountState, accountState } from '../domain/accounts/accounts.js';
import { accountFields } from '../domain/accounts/fields.js';
import { setAccountLimit } from '../domain/accounts/monthly-limits.js';
import { MAX_LIVE_API_KEYS } from '../domain/kernel/api-key.js';
import { MAX_LIVE_INSTANCES } from '../domain/kernel/instance-limit.js';
import { pendingTopUps } from '../domain/top-ups/top-ups.js';
import { type AccountChange, accountChanges, LOADS_PER_EVENT } from '../domain/updates/change-streams.js';
import { DISK_DELETE_AT, EXHAUSTS_AT } from './balance.js';
import { atMost, builder, fromField, NEEDS_KEY, renamedTo } from './builder.js';
import { accountOf, callerOf, type GatewayContext } from './context.js';
import { InstanceType } from './instances.js';
import { InstanceLoadType } from './metrics.js';
import { Node } from './node.js';
import { selects } from './selects.js';
import { TopUpType } from './top-ups.js';

const AccountLimits = builder.objectRef<AccountState>('AccountLimits').implement({
  description: 'Limits of the account.',
  fields: (t) => ({
    requestsPerMinute: t.exposeInt('requestsPerMinute', {
      description:
        'Maximum requests in any 60 s, REST and GraphQL together. The limit grows with lifetime spend. 0 means no limit.',
    }),
    instances: t.int({
      description: 'Maximum live instances (running and stopped).',
      resolve: () => MAX_LIVE_INSTANCES,
    }),
    apiKeys: t.int({ description: 'Maximum API keys that are not revoked.', resolve: () => MAX_LIVE_API_KEYS }),
  }),
});

function resolvePendingTopUps({ id }: AccountState, _args: object, { deps }: GatewayContext) {
  return pendingTopUps(deps, id);
}

const Account = builder.objectRef<AccountState>('Account').implement({
  interfaces: [Node],
  description: 'The account that pays for instances.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Account id.' }),
    name: t.exposeString('name', { description: 'Name of the account.' }),
    demo: t.exposeBoolean('demo', { description: 'Whether this is the demonstration account.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
    balance: t.expose('balance', { type: 'USD', description: 'Remaining credit.' }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
    lifetimeSpend: t.expose('lifetimeSpend', { type: 'USD', description: 'Total spend so far.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'Sum of all GPU and disk rates being paid now, in USD per hour.',
    }),
    exhaustsAt: t.expose('exhaustsAt', EXHAUSTS_AT),
    diskDeleteAt: t.expose('diskDeleteAt', DISK_DELETE_AT),
    monthlyLimit: t.expose('monthlyLimit', {
      type: 'USD',
      nullable: true,
      description: 'Maximum spend in a UTC calendar month; null for no limit.',
    }),
    limitReachedAt: t.expose('limitReachedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        "The second in which monthlyLimit was reached this month, or will be reached at the current rates. All running instances stop then; their disks are still billed. Null if it won't be reached.",
    }),
    pendingTopUps: t.field({
      type: [TopUpType],
      description:
        "Top-ups with a payment that was seen but not credited yet, newest first. They don't delay the exhaustion of credit.",
      resolve: resolvePendingTopUps,
    }),
    topUpsUnderWay: t.field({
      type: [TopUpType],
      ...renamedTo('pendingTopUps'),
      resolve: resolvePendingTopUps,
    }),
    liveInstances: t.exposeInt('liveInstances', { description: 'Number of live instances (running and stopped).' }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second to which balance, spend and burn refer.' }),
    limits: t.field({ type: AccountLimits, description: 'Limits of the account.', resolve: (account) => account }),
  }),
});

builder.queryFields((t) => ({
  account: t.field({
    type: Account,
    ...NEEDS_KEY,
    nullable: true,
    description: 'The account of the API key. Needs an API key.',
    resolve: (_root, _args, context) => accountState(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  setMonthlyLimit: t.field({
    type: Account,
    ...NEEDS_KEY,
    nullable: true,
    description:
      "Sets the maximum spend of the account in a UTC calendar month. Omit it or pass null to remove the limit. If spend has already passed the limit, all running instances stop immediately. Raising the limit doesn't start any. Refused for an API key that has its own limit.",
    args: { monthlyLimit: t.arg.float(fromField(accountFields.monthlyLimit)) },
    resolve: (_root, { monthlyLimit }, context) => setAccountLimit(context.deps, callerOf(context), monthlyLimit),
  }),
}));

const AccountChangeType = builder.objectRef<AccountChange>('AccountChange').implement({
  description: 'Changes to an account.',
  fields: (t) => ({
    account: t.expose('account', {
      type: Account,
      description: 'Current state of the account: balance, burn, exhaustion.',
    }),
    instances: t.expose('instances', {
      type: [InstanceType],
      description:
        'Current state of the instances that changed since the last event; at most 100. Any others follow immediately.',
    }),
    topUps: t.expose('topUps', {
      type: [TopUpType],
      description: 'Current state of the top-ups that changed since the last event.',
    }),
    loads: t.expose('loads', {
      type: [InstanceLoadType],
      ...atMost(LOADS_PER_EVENT),
      description: `New samples of running instances, collected every 5 s if you select this field; at most ${LOADS_PER_EVENT}. Any others follow immediately. The account is then the same as in the previous event.`,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  accountChanged: t.field({
    type: AccountChangeType,
    ...NEEDS_KEY,
    description:
      'Combines balanceChanged, instanceChanged and topUpChanged in one stream: the account now, and again after each change of its credit, burn, instances or top-ups. The first event contains no instances; query them after it. Needs an API key.',
    subscribe: (_root, _args, context, info) =>
      accountChanges(context.deps, callerOf(context), context.untilGone(), selects(info, 'loads')),
    resolve: (change) => change,
  }),
}));

import { type AccountState, accountState } from '../domain/accounts/accounts.js';
import { setAccountLimit } from '../domain/accounts/monthly-limits.js';
import { fields } from '../domain/fields.js';
import { MAX_LIVE_API_KEYS } from '../domain/rules/api-key.js';
import { MAX_LIVE_INSTANCES } from '../domain/rules/instance-limit.js';
import { topUpsUnderWay } from '../domain/top-ups/top-ups.js';
import { type AccountChange, accountChanges, LOADS_AT_ONCE } from '../domain/updates/change-streams.js';
import { DISK_DELETE_AT, EXHAUSTS_AT } from './balance.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';
import { InstanceLoadType } from './metrics.js';
import { Node } from './node.js';
import { selects } from './selects.js';
import { TopUpType } from './top-ups.js';

const AccountLimits = builder.objectRef<AccountState>('AccountLimits').implement({
  description: 'The limits of the account.',
  fields: (t) => ({
    requestsPerMinute: t.exposeInt('requestsPerMinute', {
      description:
        'Requests in any 60 s, REST and GraphQL together; the limit grows with lifetime spend. 0 means no limit.',
    }),
    instances: t.int({ description: 'Live instances: running and stopped.', resolve: () => MAX_LIVE_INSTANCES }),
    apiKeys: t.int({ description: 'Unrevoked API keys.', resolve: () => MAX_LIVE_API_KEYS }),
  }),
});

const Account = builder.objectRef<AccountState>('Account').implement({
  interfaces: [Node],
  description: 'The account that pays for instances.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Account id.' }),
    name: t.exposeString('name', { description: 'Name.' }),
    demo: t.exposeBoolean('demo', { description: 'True for the demonstration account.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    balance: t.expose('balance', { type: 'USD', description: 'Credit left.' }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
    lifetimeSpend: t.expose('lifetimeSpend', { type: 'USD', description: 'Total spend so far.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'The sum of all GPU and disk rates paid now, in USD per hour.',
    }),
    exhaustsAt: t.expose('exhaustsAt', EXHAUSTS_AT),
    diskDeleteAt: t.expose('diskDeleteAt', DISK_DELETE_AT),
    monthlyLimit: t.expose('monthlyLimit', {
      type: 'USD',
      nullable: true,
      description: 'What may be spent in a UTC calendar month; null for no limit.',
    }),
    limitReachedAt: t.expose('limitReachedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'The second at which monthlyLimit was reached this month, or will be at the present rates: everything running stops then, disks are billed on. Null when never.',
    }),
    topUpsUnderWay: t.field({
      type: [TopUpType],
      description:
        'Top-ups with a payment that is seen and not credited yet, newest first. They stop nothing from running dry.',
      resolve: ({ id }, _args, { deps }) => topUpsUnderWay(deps, id),
    }),
    liveInstances: t.exposeInt('liveInstances', { description: 'Live instances: running and stopped.' }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second that balance, spend and burn are of.' }),
    limits: t.field({ type: AccountLimits, description: 'Limits.', resolve: (account) => account }),
  }),
});

builder.queryFields((t) => ({
  account: t.field({
    type: Account,
    ...NEEDS_KEY,
    nullable: true,
    description: 'The account that the API key belongs to. Needs an API key.',
    resolve: (_root, _args, context) => accountState(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  setMonthlyLimit: t.field({
    type: Account,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets what the account may spend in a UTC calendar month; null or left out takes the limit away. One that is passed already stops everything with this second. A higher one starts nothing. Refused for an API key that has a limit itself.',
    args: { monthlyLimit: t.arg.float(fromField(fields.monthlyLimit)) },
    resolve: (_root, { monthlyLimit }, context) => setAccountLimit(context.deps, callerOf(context), monthlyLimit),
  }),
}));

const AccountChangeType = builder.objectRef<AccountChange>('AccountChange').implement({
  description: 'What changed of an account.',
  fields: (t) => ({
    account: t.expose('account', {
      type: Account,
      description: 'The account as it is: balance, burn, exhaustion.',
    }),
    instances: t.expose('instances', {
      type: [InstanceType],
      description:
        'The instances that changed since the last event, as they are; 100 at most, the others follow at once.',
    }),
    topUps: t.expose('topUps', {
      type: [TopUpType],
      description: 'The top-ups that changed since the last event, as they are.',
    }),
    loads: t.expose('loads', {
      type: [InstanceLoadType],
      ...atMost(LOADS_AT_ONCE),
      description: `What running instances do now: those with a new sample, looked for every 5 s while this is asked for; ${LOADS_AT_ONCE} at most, the others follow at once. The account is then as in the event before.`,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  accountChanged: t.field({
    type: AccountChangeType,
    ...NEEDS_KEY,
    description:
      'All that balanceChanged, instanceChanged and topUpChanged send, in one stream: the account now, and again with each change of its credit, burn, instances or top-ups. The first event names no instances: read them after it. Needs an API key.',
    subscribe: (_root, _args, context, info) =>
      accountChanges(context.deps, callerOf(context), context.untilGone(), selects(info, 'loads')),
    resolve: (change) => change,
  }),
}));

import { type AccountState, accountState } from '../domain/accounts/accounts.js';
import { MAX_LIVE_API_KEYS } from '../domain/rules/api-key.js';
import { MAX_LIVE_INSTANCES } from '../domain/rules/lifecycle.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const AccountLimits = builder.objectRef<AccountState>('AccountLimits').implement({
  description: 'What the account may do at most.',
  fields: (t) => ({
    requestsPerMinute: t.exposeInt('requestsPerMinute', {
      description: 'Requests in any 60 s, REST and GraphQL together; grows with lifetime spend. 0 means no limit.',
    }),
    instances: t.int({ description: 'Undestroyed instances.', resolve: () => MAX_LIVE_INSTANCES }),
    apiKeys: t.int({ description: 'Live API keys.', resolve: () => MAX_LIVE_API_KEYS }),
  }),
});

const Account = builder.objectRef<AccountState>('Account').implement({
  description: 'Who pays.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Account id.' }),
    name: t.exposeString('name', { description: 'Name.' }),
    demo: t.exposeBoolean('demo', { description: 'True for the demonstration account.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    balance: t.expose('balance', { type: 'USD', description: 'Credit left.' }),
    monthSpend: t.expose('monthSpend', { type: 'USD', description: 'Spend since the first of the UTC month.' }),
    lifetimeSpend: t.expose('lifetimeSpend', { type: 'USD', description: 'All spend so far.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'All GPU and disk rates being paid now, USD per hour.',
    }),
    exhaustsAt: t.expose('exhaustsAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When credit runs out at this burn, or ran out; everything running stops then. Null when it will not.',
    }),
    diskDeleteAt: t.expose('diskDeleteAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When instances are destroyed unless credit comes before: the end of the grace period after exhaustsAt.',
    }),
    liveInstances: t.exposeInt('liveInstances', { description: 'Undestroyed instances.' }),
    limits: t.field({ type: AccountLimits, description: 'Limits.', resolve: (account) => account }),
  }),
});

builder.queryFields((t) => ({
  account: t.field({
    type: Account,
    ...NEEDS_KEY,
    nullable: true,
    description: 'The account of the API key. Needs one.',
    resolve: (_root, _args, context) => accountState(context.deps, accountOf(context)),
  }),
}));

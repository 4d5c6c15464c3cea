import { ACTIVITY_DAYS, listActivity } from '../domain/activity/activity.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { pageLimit } from './pages.js';

export const ActivityType = builder.prismaObject('Activity', {
  description: 'A change that a key of the account asked for.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When; of several refusals the last.' }),
    operation: t.exposeString('operation', {
      description: 'The mutation in GraphQL that it was or went through; start, stop or destroy for an action.',
    }),
    targets: t.exposeStringList('targets', { description: 'Ids and names of what it was about, never values.' }),
    keyId: t.exposeID('keyId', { description: 'The API key that asked.' }),
    byConsole: t.exposeBoolean('isSession', { description: 'Whether by a console session made from that key.' }),
    address: t.exposeString('address', { description: 'Where it came from.' }),
    code: t.exposeString('code', { nullable: true, description: 'Why it was refused; null when it was done.' }),
    times: t.exposeInt('times', {
      description: 'Refusals of one key, operation and code within a clock hour are one entry: how many.',
    }),
  }),
});

const ActivityFilterInput = builder.inputType('ActivityFilterInput', {
  description: 'Which entries; what is left out does not limit.',
  fields: (t) => ({
    keyId: t.id({ description: 'Asked for by this API key.' }),
    operation: t.string({ description: 'This operation.' }),
    target: t.string({ description: 'About this id or name.' }),
    refused: t.boolean({ description: 'True: refused ones alone; false: none of them.' }),
    from: t.field({ type: 'DateTime', description: 'Not before.' }),
    to: t.field({ type: 'DateTime', description: 'Before.' }),
  }),
});

builder.queryFields((t) => ({
  activity: t.prismaConnection(
    {
      type: ActivityType,
      cursor: 'accountId_id',
      ...NEEDS_KEY,
      nullable: true,
      maxSize: pageLimit((context) => new RegExp(`^GPC:T:\\["S:${accountOf(context)}","I:\\d{1,18}"\\]$`)),
      description: `Every change that the account's keys asked for, done or refused, of the last ${ACTIVITY_DAYS} days, newest first. What the rate limit refuses is not among them. Needs an API key.`,
      args: { filter: t.arg({ type: ActivityFilterInput, description: 'Which entries; by default all.' }) },
      resolve: (query, _root, { filter }, context) =>
        listActivity(context.deps, accountOf(context), filter ?? {}, query),
    },
    { name: 'ActivityConnection', description: 'A page of the activity.' },
    { name: 'ActivityEdge', description: 'An entry on a page.' },
  ),
}));

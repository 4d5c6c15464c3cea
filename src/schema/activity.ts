import { ACTIVITY_DAYS, listActivity } from '../domain/activity/activity.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { pageLimit } from './pages.js';

export const ActivityType = builder.prismaObject('Activity', {
  description: "A mutation requested with one of the account's keys.",
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time of the request; of combined refusals, the last one.' }),
    operation: t.exposeString('operation', {
      description: 'The GraphQL mutation, also for REST requests; start, stop or destroy for an action.',
    }),
    targets: t.exposeStringList('targets', {
      description: 'Ids and names that the request referred to, never values.',
    }),
    keyId: t.exposeID('keyId', { description: 'The API key that requested it.' }),
    byConsole: t.exposeBoolean('isSession', {
      description: 'Whether it was requested by a console session created with that key.',
    }),
    address: t.exposeString('address', { description: 'Address of the client.' }),
    code: t.exposeString('code', {
      nullable: true,
      description: 'Error code if it was refused; null if it succeeded.',
    }),
    times: t.exposeInt('times', {
      description:
        'Number of refusals in this entry. Refusals with the same key, operation and code within a clock hour are combined.',
    }),
  }),
});

const ActivityFilterInput = builder.inputType('ActivityFilterInput', {
  description: "Selects entries. Omitted fields don't filter.",
  fields: (t) => ({
    keyId: t.id({ description: 'Requested with this API key.' }),
    operation: t.string({ description: 'With this operation.' }),
    target: t.string({ description: 'Referring to this id or name.' }),
    refused: t.boolean({ description: 'True: only refused requests; false: only successful ones.' }),
    from: t.field({ type: 'DateTime', description: 'In this second or later.' }),
    to: t.field({ type: 'DateTime', description: 'Before this second.' }),
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
      description: `All mutations requested with the account's keys in the last ${ACTIVITY_DAYS} days, successful or refused, newest first. Excludes requests refused by the rate limit. Needs an API key.`,
      args: { filter: t.arg({ type: ActivityFilterInput, description: 'Selects entries; by default all.' }) },
      resolve: (query, _root, { filter }, context) =>
        listActivity(context.deps, accountOf(context), filter ?? {}, query),
    },
    { name: 'ActivityConnection', description: 'A page of activity.' },
    { name: 'ActivityEdge', description: 'An entry on a page.' },
  ),
}));

import { resolveCursorConnection } from '@pothos/plugin-relay';
import { ACTIVITY_DAYS } from '../domain/activity/activity.js';
import { type TimelineEntry, timelineOf } from '../domain/instances/timeline.js';
import { DomainError } from '../domain/rules/errors.js';
import { dateOf } from '../domain/rules/time.js';
import { isTimelineCursor, TIMELINE_KINDS, timelineCursor } from '../domain/rules/timeline.js';
import { ActivityType } from './activity.js';
import { builder } from './builder.js';
import { accountOf, type GatewayContext } from './context.js';
import { InstanceType, StopReason } from './instances.js';
import { DEFAULT_PAGE, pageLimit } from './pages.js';

const TimelineKind = builder.enumType('TimelineKind', {
  description: 'What happened to an instance.',
  values: Object.fromEntries(Object.entries(TIMELINE_KINDS).map(([kind, description]) => [kind, { description }])) as {
    [kind in keyof typeof TIMELINE_KINDS]: { description: string };
  },
});

const TimelineEntryType = builder.objectRef<TimelineEntry>('TimelineEntry').implement({
  description: 'One thing that happened to an instance. What its kind says nothing of is null.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    kind: t.expose('kind', { type: TimelineKind, description: 'What happened.' }),
    ratePerHour: t.expose('rate', {
      type: 'USD',
      nullable: true,
      description: 'Of a start: what GPUs and disk cost an hour from then on.',
    }),
    amount: t.expose('amount', {
      type: 'USD',
      nullable: true,
      description: 'Of an end: what its GPUs cost since the start. Of what was given back: that.',
    }),
    seconds: t.int({
      nullable: true,
      description: 'Of an end: how long it ran. Of what was given back: for how long.',
      resolve: ({ seconds }) => (seconds === null ? null : Number(seconds)),
    }),
    stopReason: t.expose('reason', {
      type: StopReason,
      nullable: true,
      description: 'Of an end: why. Null where an earlier version did not keep it.',
    }),
    hostFault: t.exposeBoolean('hostFault', {
      nullable: true,
      description: 'Of a start that failed: whether the machine was at fault.',
    }),
    volumeId: t.exposeID('volumeId', { nullable: true, description: 'The volume.' }),
    volumeName: t.exposeString('volumeName', { nullable: true, description: 'Its name.' }),
    sizeBytes: t.float({
      nullable: true,
      description: 'Of a volume that was stored: the size of all its files; null where nobody said.',
      resolve: ({ sizeBytes }) => (sizeBytes === null ? null : Number(sizeBytes)),
    }),
    asked: t.field({
      type: ActivityType,
      nullable: true,
      description: `Who asked for it; null where no key did, and after ${ACTIVITY_DAYS} days.`,
      resolve: ({ asked }, _args, context) =>
        asked && { ...asked, accountId: accountOf(context), at: dateOf(asked.at), slot: null },
    }),
  }),
});

/** Instances of which one request may ask it: each is read by itself. */
const MAX_TIMELINES = 10;
const counts = new WeakMap<GatewayContext, number>();

/** Refuses with invalid_request one too many. */
function checkCount(context: GatewayContext): void {
  const count = (counts.get(context) ?? 0) + 1;
  counts.set(context, count);
  if (count > MAX_TIMELINES)
    throw new DomainError('invalid_request', `one request may ask for ${MAX_TIMELINES} timelines at most`);
}

builder.prismaObjectField(InstanceType, 'timeline', (t) =>
  t.connection(
    {
      type: TimelineEntryType,
      description:
        'All that is known to have happened to it, newest first: rented, started, stopped and why, what its container and its machine did, its volumes, and what keys of the account asked for.',
      select: { id: true, accountId: true, createdAt: true },
      resolve: (instance, args, context) => {
        const maxSize = pageLimit(() => ({ test: isTimelineCursor }))(args, context);
        checkCount(context);
        return resolveCursorConnection<Promise<TimelineEntry[]>>(
          { args, defaultSize: DEFAULT_PAGE, maxSize, toCursor: timelineCursor },
          ({ after, before, limit, inverted }) =>
            timelineOf(context.deps, instance, { after, before, limit, inverted }),
        );
      },
    },
    { name: 'TimelineConnection', description: 'A page of what happened.' },
    { name: 'TimelineEdge', description: 'An entry on a page.' },
  ),
);

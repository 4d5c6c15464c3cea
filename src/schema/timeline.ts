import { resolveCursorConnection } from '@pothos/plugin-relay';
import { ACTIVITY_DAYS } from '../domain/activity/activity.js';
import {
  CREDIT_REASONS,
  isTimelineCursor,
  TIMELINE_KINDS,
  timelineCursor,
} from '../domain/instances/rules/timeline.js';
import { type TimelineEntry, timelineOf } from '../domain/instances/timeline.js';
import { DomainError } from '../domain/kernel/errors.js';
import { dateOf } from '../domain/kernel/time.js';
import { ActivityType } from './activity.js';
import { builder } from './builder.js';
import { accountOf, type GatewayContext } from './context.js';
import { InstanceType, StopReason } from './instances.js';
import { DEFAULT_PAGE, pageLimit } from './pages.js';

/** Returns the values of an enum from their descriptions. */
const described = <Name extends string>(descriptions: Readonly<Record<Name, string>>) =>
  Object.fromEntries(Object.entries(descriptions).map(([name, description]) => [name, { description }])) as {
    [name in Name]: { description: string };
  };

const TimelineKind = builder.enumType('TimelineKind', {
  description: "Kind of event in an instance's timeline.",
  values: described(TIMELINE_KINDS),
});

const ServiceCreditReason = builder.enumType('ServiceCreditReason', {
  description: 'Reason for a service credit.',
  values: described(CREDIT_REASONS),
});

const TimelineEntryType = builder.objectRef<TimelineEntry>('TimelineEntry').implement({
  description: "One event in an instance's timeline. Fields that don't apply to its kind are null.",
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time of the event.' }),
    kind: t.expose('kind', { type: TimelineKind, description: 'Kind of event.' }),
    ratePerHour: t.expose('rate', {
      type: 'USD',
      nullable: true,
      description: 'For a start: rate of GPUs and disk afterwards, in USD per hour.',
    }),
    amount: t.expose('amount', {
      type: 'USD',
      nullable: true,
      description: 'For a stop: cost of its GPUs since the start. For a service credit: the amount.',
    }),
    seconds: t.int({
      nullable: true,
      description: 'For a stop: seconds since the start. For a service credit: the seconds credited.',
      resolve: ({ seconds }) => (seconds === null ? null : Number(seconds)),
    }),
    stopReason: t.expose('reason', {
      type: StopReason,
      nullable: true,
      description: "For a stop: the reason. Null if an earlier version didn't record it.",
    }),
    creditReason: t.expose('creditReason', {
      type: ServiceCreditReason,
      nullable: true,
      description: 'For a service credit: the reason.',
    }),
    hostFault: t.exposeBoolean('hostFault', {
      nullable: true,
      description: 'For a failed start: whether the machine was at fault.',
    }),
    volumeId: t.exposeID('volumeId', { nullable: true, description: 'The volume.' }),
    volumeName: t.exposeString('volumeName', { nullable: true, description: 'Name of the volume.' }),
    sizeBytes: t.float({
      nullable: true,
      description: 'For a stored snapshot: total size of its files; null if unknown.',
      resolve: ({ sizeBytes }) => (sizeBytes === null ? null : Number(sizeBytes)),
    }),
    asked: t.field({
      type: ActivityType,
      nullable: true,
      description: `The request that caused it; null if no key requested it, and after ${ACTIVITY_DAYS} days.`,
      resolve: ({ asked }, _args, context) =>
        asked && { ...asked, accountId: accountOf(context), at: dateOf(asked.at), slot: null },
    }),
  }),
});

/** Maximum number of timelines per request, because each one is read separately. */
const MAX_TIMELINES = 10;
const counts = new WeakMap<GatewayContext, number>();

/** Throws invalid_request if a request has too many timelines. */
function checkCount(context: GatewayContext): void {
  const count = (counts.get(context) ?? 0) + 1;
  counts.set(context, count);
  if (count > MAX_TIMELINES)
    throw new DomainError('invalid_request', `one request can query at most ${MAX_TIMELINES} timelines`);
}

builder.prismaObjectField(InstanceType, 'timeline', (t) =>
  t.connection(
    {
      type: TimelineEntryType,
      description:
        "Everything known to have happened to it, newest first: deploy, starts, stops and their reasons, events of its container and machine, its volumes, and mutations requested with the account's keys.",
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
    { name: 'TimelineConnection', description: 'A page of timeline entries.' },
    { name: 'TimelineEdge', description: 'An entry on a page.' },
  ),
);

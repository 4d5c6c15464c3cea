import { fields } from '../domain/fields.js';
import { EVENT_TYPES, type EventType } from '../domain/rules/events.js';
import { MAX_WEBHOOKS } from '../domain/rules/webhook.js';
import {
  balanceNotice,
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  redeliver,
  setBalanceNotice,
  testWebhook,
  turnSecret,
  type Webhook,
} from '../domain/webhooks/webhooks.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const MAX_SHOWN = 100;

/** What attempts and deliveries say of their event. */
const EVENT_ID = {
  select: { event: { select: { id: true } } },
  description: 'The event.',
  resolve: ({ event }: { event: { id: string } }) => event.id,
} as const;
const EVENT_TYPE = {
  select: { event: { select: { type: true } } },
  description: 'Type of the event.',
  resolve: ({ event }: { event: { type: string } }) => event.type,
} as const;
const EVENT_AT = {
  type: 'DateTime',
  select: { event: { select: { at: true } } },
  description: 'The second that the event is of.',
  resolve: ({ event }: { event: { at: Date } }) => event.at,
} as const;

builder.prismaObject('WebhookAttempt', {
  description: 'One attempt to send an event to a webhook.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    number: t.exposeInt('number', { description: 'Counts the attempts of this event from 1.' }),
    status: t.exposeInt('status', { nullable: true, description: 'Status of the answer; null where there was none.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why there was no answer.' }),
    tookMs: t.exposeInt('tookMs', { description: 'How long it took, in milliseconds.' }),
    eventId: t.id(EVENT_ID),
    eventType: t.string(EVENT_TYPE),
    eventAt: t.field(EVENT_AT),
  }),
});

/** Of whatever events are sent to. */
export const ATTEMPTS = {
  description: `The last attempts, newest first; ${MAX_SHOWN} at most.`,
  args: builder.args((t) => ({ first: t.int(fromField({ ...fields.page, default: 20 })) })),
  query: ({ first }: { first?: number | null }) => ({
    orderBy: [{ at: 'desc' as const }, { sequence: 'desc' as const }, { number: 'desc' as const }],
    take: Math.min(Math.max(first ?? 20, 1), MAX_SHOWN),
  }),
};

const DeliveryState = builder.enumType('WebhookDeliveryState', {
  description: 'What became of an event for a webhook.',
  values: {
    PENDING: { description: 'It is sent, or sent again, when its time comes.' },
    DELIVERED: { description: 'Its receiver took it.' },
    GIVEN_UP: { description: 'It is sent no more, unless somebody asks for it.' },
  } as const,
});

builder.prismaObject('WebhookDelivery', {
  description: 'An event on its way to a webhook.',
  select: { isPending: true, attempts: true, nextAt: true },
  fields: (t) => ({
    eventId: t.id(EVENT_ID),
    eventType: t.string(EVENT_TYPE),
    eventAt: t.field(EVENT_AT),
    subject: t.exposeString('subject', {
      description: 'The instance that it is about, or `account`: events of one are delivered in order.',
    }),
    state: t.field({
      type: DeliveryState,
      select: { deliveredAt: true },
      description: 'What became of it.',
      resolve: ({ isPending, deliveredAt }) => {
        if (isPending) return 'PENDING' as const;
        return deliveredAt === null ? ('GIVEN_UP' as const) : ('DELIVERED' as const);
      },
    }),
    tries: t.exposeInt('attempts', { description: 'Attempts since it was last asked for.' }),
    nextAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When it is sent again at the earliest; null where it is not, or at once after what is before it of the same subject.',
      resolve: ({ isPending, attempts, nextAt }) => (isPending && attempts > 0 ? nextAt : null),
    }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its receiver took it; null where it did not.',
    }),
  }),
});

const WebhookType = builder.prismaObject('Webhook', {
  description: 'An address that events of the account are sent to.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Webhook id.' }),
    url: t.exposeString('url', { description: 'Where events are sent to.' }),
    events: t.stringList({
      nullable: true,
      description: 'Types of events that it gets; null: all.',
      resolve: ({ events }) => (events.length === 0 ? null : events),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when nothing is sent to it; null while it is.',
    }),
    pauseReason: t.exposeString('pauseReason', { nullable: true, description: 'Why it is paused.' }),
    waiting: t.relationCount('deliveries', {
      where: { isPending: true },
      description: 'Events that wait to be taken.',
    }),
    attempts: t.relation('attempts', ATTEMPTS),
    deliveries: t.relation('deliveries', {
      description: `The last events that are meant for it, newest first; ${MAX_SHOWN} at most.`,
      args: ATTEMPTS.args,
      query: ({ first }) => ({ orderBy: { sequence: 'desc' as const }, take: ATTEMPTS.query({ first }).take }),
    }),
  }),
});

const WebhookWithSecret = builder.objectRef<{ webhook: Webhook; secret: string }>('WebhookWithSecret').implement({
  description: 'A webhook with its new secret, which is shown only once.',
  fields: (t) => ({
    webhook: t.field({ type: WebhookType, description: 'The webhook.', resolve: ({ webhook }) => webhook }),
    secret: t.exposeString('secret', { description: 'What deliveries are signed with: whsec_ and base64.' }),
  }),
});

const ID = { required: true, description: 'Webhook id.' } as const;
const types = (given: readonly string[] | null | undefined) => given as EventType[] | null | undefined;

builder.queryFields((t) => ({
  webhooks: t.prismaField({
    type: [WebhookType],
    extensions: { ...NEEDS_KEY.extensions, ...atMost(MAX_WEBHOOKS).extensions },
    nullable: true,
    description: 'Where events of the account are sent to, oldest first. Needs an API key.',
    resolve: (query, _root, _args, context) => listWebhooks(context.deps, accountOf(context), query),
  }),
  balanceNotice: t.field({
    type: 'USD',
    ...NEEDS_KEY,
    nullable: true,
    description: 'The balance from which on the account is told that it is low; null: not at all. Needs an API key.',
    resolve: (_root, _args, context) => balanceNotice(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  createWebhook: t.field({
    type: WebhookWithSecret,
    ...NEEDS_KEY,
    nullable: true,
    description: `Sends events of the account to an address, signed by Standard Webhooks. At most ${MAX_WEBHOOKS}. Types: ${Object.keys(EVENT_TYPES).join(', ')}.`,
    args: {
      url: t.arg.string({ required: true, ...fromField(fields.webhookUrl) }),
      events: t.arg.stringList(fromField(fields.webhookEvents)),
    },
    resolve: (_root, { url, events }, context) =>
      createWebhook(context.deps, accountOf(context), { url, events: types(events) }),
  }),
  changeWebhook: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Changes what is given. Paused, it gets nothing; unpaused, what happens from then on.',
    args: {
      id: t.arg.id(ID),
      url: t.arg.string(fromField(fields.webhookUrl)),
      events: t.arg.stringList(fromField(fields.webhookEvents)),
      paused: t.arg.boolean({ description: 'Whether nothing is sent to it.' }),
    },
    resolve: (_root, { id, url, events, paused }, context) =>
      changeWebhook(context.deps, accountOf(context), id, { url, events: types(events), paused }),
  }),
  turnWebhookSecret: t.field({
    type: WebhookWithSecret,
    ...NEEDS_KEY,
    nullable: true,
    description: 'A new secret. For a day deliveries are signed with the one before, too.',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => turnSecret(context.deps, accountOf(context), id),
  }),
  deleteWebhook: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes a webhook, and with it the log of its attempts.',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => deleteWebhook(context.deps, accountOf(context), id),
  }),
  testWebhook: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends it an event of the type webhook.test.',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => testWebhook(context.deps, accountOf(context), id),
  }),
  redeliver: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends an event of the last 30 days again, whatever became of it.',
    args: { id: t.arg.id(ID), eventId: t.arg.id({ required: true, description: 'Event id.' }) },
    resolve: (_root, { id, eventId }, context) => redeliver(context.deps, accountOf(context), id, eventId),
  }),
  setBalanceNotice: t.field({
    type: 'USD',
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sets the balance from which on the account is told that it is low, once between two credits.',
    args: { below: t.arg({ type: 'USD', description: fields.balanceBelow.description }) },
    resolve: (_root, { below }, context) => setBalanceNotice(context.deps, accountOf(context), below ?? null),
  }),
}));

import { EVENT_TYPES, type EventType } from '../domain/kernel/events.js';
import { commonFields } from '../domain/kernel/fields.js';
import { webhookFields } from '../domain/webhooks/fields.js';
import { MAX_WEBHOOKS } from '../domain/webhooks/rules/webhook.js';
import {
  balanceNotice,
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  redeliver,
  rotateSecret,
  setBalanceNotice,
  testWebhook,
  type Webhook,
} from '../domain/webhooks/webhooks.js';
import { atMost, builder, fromField, NEEDS_KEY, renamedTo } from './builder.js';
import { accountOf, type GatewayContext } from './context.js';

const MAX_SHOWN = 100;

/** Fields that describe the event of an attempt or delivery. */
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
  description: 'The second to which the event refers.',
  resolve: ({ event }: { event: { at: Date } }) => event.at,
} as const;

builder.prismaObject('WebhookAttempt', {
  description: 'One attempt to send an event to a webhook.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time of the attempt.' }),
    number: t.exposeInt('number', { description: 'Number of the attempt for this event, starting at 1.' }),
    status: t.exposeInt('status', {
      nullable: true,
      description: 'HTTP status of the response; null if there was none.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Reason why there was no response.' }),
    tookMs: t.exposeInt('tookMs', { description: 'Duration in milliseconds.' }),
    eventId: t.id(EVENT_ID),
    eventType: t.string(EVENT_TYPE),
    eventAt: t.field(EVENT_AT),
  }),
});

/** Field for the delivery attempts to a webhook or email address. */
export const ATTEMPTS = {
  description: `The last attempts, newest first; at most ${MAX_SHOWN}.`,
  args: builder.args((t) => ({ first: t.int(fromField({ ...commonFields.page, default: 20 })) })),
  query: ({ first }: { first?: number | null }) => ({
    orderBy: [{ at: 'desc' as const }, { sequence: 'desc' as const }, { number: 'desc' as const }],
    take: Math.min(Math.max(first ?? 20, 1), MAX_SHOWN),
  }),
};

const DeliveryState = builder.enumType('WebhookDeliveryState', {
  description: 'State of an event for a webhook.',
  values: {
    PENDING: { description: 'Waiting to be sent or retried.' },
    DELIVERED: { description: 'Accepted by the receiver.' },
    GIVEN_UP: { description: "Abandoned. It isn't sent again unless you request it." },
  } as const,
});

builder.prismaObject('WebhookDelivery', {
  description: 'The delivery of an event to a webhook.',
  select: { isPending: true, attempts: true, nextAt: true },
  fields: (t) => ({
    eventId: t.id(EVENT_ID),
    eventType: t.string(EVENT_TYPE),
    eventAt: t.field(EVENT_AT),
    subject: t.exposeString('subject', {
      description:
        'The instance to which the event refers, or `account`. Events of one subject are delivered in order.',
    }),
    state: t.field({
      type: DeliveryState,
      select: { deliveredAt: true },
      description: 'State of the delivery.',
      resolve: ({ isPending, deliveredAt }) => {
        if (isPending) return 'PENDING' as const;
        return deliveredAt === null ? ('GIVEN_UP' as const) : ('DELIVERED' as const);
      },
    }),
    tries: t.exposeInt('attempts', { description: 'Attempts since it was last requested.' }),
    nextAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Earliest time of the next attempt. Null if no attempt is planned, or if it is sent immediately after the previous event of its subject.',
      resolve: ({ isPending, attempts, nextAt }) => (isPending && attempts > 0 ? nextAt : null),
    }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: "Time at which the receiver accepted it; null if it didn't.",
    }),
  }),
});

const WebhookType = builder.prismaObject('Webhook', {
  description: 'A URL to which events of the account are sent.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Webhook id.' }),
    url: t.exposeString('url', { description: 'URL to which events are sent.' }),
    events: t.stringList({
      nullable: true,
      description: 'Event types to send; null for all.',
      resolve: ({ events }) => (events.length === 0 ? null : events),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time since which nothing is sent; null if not paused.',
    }),
    pauseReason: t.exposeString('pauseReason', { nullable: true, description: 'Reason for the pause.' }),
    waiting: t.relationCount('deliveries', {
      where: { isPending: true },
      description: 'Number of events waiting to be delivered.',
    }),
    attempts: t.relation('attempts', ATTEMPTS),
    deliveries: t.relation('deliveries', {
      description: `The last events for this webhook, newest first; at most ${MAX_SHOWN}.`,
      args: ATTEMPTS.args,
      query: ({ first }) => ({ orderBy: { sequence: 'desc' as const }, take: ATTEMPTS.query({ first }).take }),
    }),
  }),
});

const WebhookWithSecret = builder.objectRef<{ webhook: Webhook; secret: string }>('WebhookWithSecret').implement({
  description: 'A webhook with its new secret, which is shown only once.',
  fields: (t) => ({
    webhook: t.field({ type: WebhookType, description: 'The webhook.', resolve: ({ webhook }) => webhook }),
    secret: t.exposeString('secret', { description: 'Secret with which deliveries are signed: whsec_ and base64.' }),
  }),
});

const ID = { required: true, description: 'Webhook id.' } as const;

function resolveRotation(_root: object, { id }: { id: string }, context: GatewayContext) {
  return rotateSecret(context.deps, accountOf(context), id);
}

const types = (input: readonly string[] | null | undefined) => input as EventType[] | null | undefined;

builder.queryFields((t) => ({
  webhooks: t.prismaField({
    type: [WebhookType],
    extensions: { ...NEEDS_KEY.extensions, ...atMost(MAX_WEBHOOKS).extensions },
    nullable: true,
    description: "The account's webhooks, oldest first. Needs an API key.",
    resolve: (query, _root, _args, context) => listWebhooks(context.deps, accountOf(context), query),
  }),
  balanceNotice: t.field({
    type: 'USD',
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Low-balance threshold: the account is notified when the balance falls to it. Null if disabled. Needs an API key.',
    resolve: (_root, _args, context) => balanceNotice(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  createWebhook: t.field({
    type: WebhookWithSecret,
    ...NEEDS_KEY,
    nullable: true,
    description: `Sends events of the account to a URL, signed according to Standard Webhooks. At most ${MAX_WEBHOOKS}. Types: ${Object.keys(EVENT_TYPES).join(', ')}.`,
    args: {
      url: t.arg.string({ required: true, ...fromField(webhookFields.webhookUrl) }),
      events: t.arg.stringList(fromField(webhookFields.webhookEvents)),
    },
    resolve: (_root, { url, events }, context) =>
      createWebhook(context.deps, accountOf(context), { url, events: types(events) }),
  }),
  changeWebhook: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Changes the given fields. A paused webhook gets no events; events during a pause are not sent later.',
    args: {
      id: t.arg.id(ID),
      url: t.arg.string(fromField(webhookFields.webhookUrl)),
      events: t.arg.stringList(fromField(webhookFields.webhookEvents)),
      paused: t.arg.boolean({ description: 'Whether to pause it.' }),
    },
    resolve: (_root, { id, url, events, paused }, context) =>
      changeWebhook(context.deps, accountOf(context), id, { url, events: types(events), paused }),
  }),
  rotateWebhookSecret: t.field({
    type: WebhookWithSecret,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Rotates the signing secret. For a day, deliveries are also signed with the previous one.',
    args: { id: t.arg.id(ID) },
    resolve: resolveRotation,
  }),
  turnWebhookSecret: t.field({
    type: WebhookWithSecret,
    nullable: true,
    ...renamedTo('rotateWebhookSecret'),
    extensions: { ...NEEDS_KEY.extensions, ...renamedTo('rotateWebhookSecret').extensions },
    args: { id: t.arg.id(ID) },
    resolve: resolveRotation,
  }),
  deleteWebhook: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes a webhook and the log of its attempts.',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => deleteWebhook(context.deps, accountOf(context), id),
  }),
}));

// Deliveries and notices to request.
builder.mutationFields((t) => ({
  testWebhook: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends it an event of type webhook.test.',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => testWebhook(context.deps, accountOf(context), id),
  }),
  redeliver: t.field({
    type: WebhookType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends an event of the last 30 days again, regardless of its state.',
    args: { id: t.arg.id(ID), eventId: t.arg.id({ required: true, description: 'Event id.' }) },
    resolve: (_root, { id, eventId }, context) => redeliver(context.deps, accountOf(context), id, eventId),
  }),
  setBalanceNotice: t.field({
    type: 'USD',
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sets the low-balance threshold. The account is notified once between two credits.',
    args: { below: t.arg({ type: 'USD', description: webhookFields.balanceBelow.description }) },
    resolve: (_root, { below }, context) => setBalanceNotice(context.deps, accountOf(context), below ?? null),
  }),
}));

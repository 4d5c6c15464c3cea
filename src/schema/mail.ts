import type { EventType } from '../domain/kernel/events.js';
import { webhookFields } from '../domain/webhooks/fields.js';
import {
  addressOf,
  deleteMailAddress,
  findMailAddress,
  setMailAddress,
  testMailAddress,
} from '../domain/webhooks/mail-address.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { ATTEMPTS } from './webhooks.js';

const MailAddressType = builder.prismaObject('Webhook', {
  variant: 'MailAddress',
  description: "An email address to which the account's events are sent once it is confirmed.",
  fields: (t) => ({
    address: t.string({ select: { url: true }, description: 'The address.', resolve: addressOf }),
    events: t.stringList({
      nullable: true,
      description: 'Event types to send; null for all.',
      resolve: ({ events }) => (events.length === 0 ? null : events),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the address was set.' }),
    confirmedAt: t.expose('confirmedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of confirmation. Null before it; only the confirmation email is sent until then.',
    }),
    confirmBy: t.expose('confirmBy', {
      type: 'DateTime',
      nullable: true,
      description: 'Time until which the link in the confirmation email is valid.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time since which nothing is sent; null if not paused.',
    }),
    pauseReason: t.exposeString('pauseReason', { nullable: true, description: 'Reason for the pause.' }),
    waiting: t.relationCount('deliveries', {
      where: { isPending: true },
      description: 'Number of events waiting to be sent.',
    }),
    attempts: t.relation('attempts', ATTEMPTS),
  }),
});

builder.queryFields((t) => ({
  sendsMail: t.boolean({
    description: "Whether this service sends email. If it doesn't, setMailAddress is refused.",
    resolve: (_root, _args, { deps }) => deps.sendMail !== null,
  }),
  mailAddress: t.prismaField({
    type: MailAddressType,
    ...NEEDS_KEY,
    nullable: true,
    description: "The email address to which the account's events are sent. Null if none is set. Needs an API key.",
    resolve: (query, _root, _args, context) => findMailAddress(context.deps, accountOf(context), query),
  }),
}));

builder.mutationFields((t) => ({
  setMailAddress: t.field({
    type: MailAddressType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      "Sends the account's events to an email address, which replaces the previous one once it is confirmed. The confirmation link in the email is valid for a day. Setting a confirmed address again keeps it confirmed and resumes it if it is paused.",
    args: {
      address: t.arg.string({ required: true, ...fromField(webhookFields.mailAddress) }),
      events: t.arg.stringList(fromField(webhookFields.webhookEvents)),
    },
    resolve: (_root, { address, events }, context) =>
      setMailAddress(context.deps, callerOf(context), { address, events: events as EventType[] | null | undefined }),
  }),
  deleteMailAddress: t.string({
    ...NEEDS_KEY,
    nullable: true,
    description: 'Removes the email address and sends nothing more to it. Returns the address.',
    resolve: async (_root, _args, context) => addressOf(await deleteMailAddress(context.deps, accountOf(context))),
  }),
  testMailAddress: t.field({
    type: MailAddressType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends a test email. At most one per minute.',
    resolve: (_root, _args, context) => testMailAddress(context.deps, accountOf(context)),
  }),
}));

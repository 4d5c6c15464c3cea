import { fields } from '../domain/fields.js';
import type { EventType } from '../domain/rules/events.js';
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
  description: 'A mail address that events of the account are sent to once it is confirmed.',
  fields: (t) => ({
    address: t.string({ select: { url: true }, description: 'The address.', resolve: addressOf }),
    events: t.stringList({
      nullable: true,
      description: 'Types of events that it gets; null: all.',
      resolve: ({ events }) => (events.length === 0 ? null : events),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was set.' }),
    confirmedAt: t.expose('confirmedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When whoever reads it confirmed it; null: not yet, and nothing but that question is sent.',
    }),
    confirmBy: t.expose('confirmBy', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the link in the question confirms it.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when nothing is sent to it; null while it is.',
    }),
    pauseReason: t.exposeString('pauseReason', { nullable: true, description: 'Why it is paused.' }),
    waiting: t.relationCount('deliveries', { where: { isPending: true }, description: 'Events that wait to be sent.' }),
    attempts: t.relation('attempts', ATTEMPTS),
  }),
});

builder.queryFields((t) => ({
  sendsMail: t.boolean({
    description: 'Whether this service sends mail. If it does not, setMailAddress is refused.',
    resolve: (_root, _args, { deps }) => deps.sendMail !== null,
  }),
  mailAddress: t.prismaField({
    type: MailAddressType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'The mail address that events of the account are sent to; null: there is none. Needs an API key.',
    resolve: (query, _root, _args, context) => findMailAddress(context.deps, accountOf(context), query),
  }),
}));

builder.mutationFields((t) => ({
  setMailAddress: t.field({
    type: MailAddressType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sends events of the account to a mail address, in place of the one before, once it is confirmed by a link that is mailed to it and valid for a day. One that is confirmed stays so, and is sent to again where it was paused.',
    args: {
      address: t.arg.string({ required: true, ...fromField(fields.mailAddress) }),
      events: t.arg.stringList(fromField(fields.webhookEvents)),
    },
    resolve: (_root, { address, events }, context) =>
      setMailAddress(context.deps, callerOf(context), { address, events: events as EventType[] | null | undefined }),
  }),
  deleteMailAddress: t.string({
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends nothing more to the mail address, and forgets it. Answers what it was.',
    resolve: async (_root, _args, context) => addressOf(await deleteMailAddress(context.deps, accountOf(context))),
  }),
  testMailAddress: t.field({
    type: MailAddressType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Sends a mail that says that it is a test; one in a minute.',
    resolve: (_root, _args, context) => testMailAddress(context.deps, accountOf(context)),
  }),
}));

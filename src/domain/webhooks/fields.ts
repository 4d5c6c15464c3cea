import { z } from 'zod';
import { EVENT_TYPES, type EventType } from '../kernel/events.js';
import { type Field, MAX_LIST } from '../kernel/field.js';
import { isMailAddress } from './rules/mail.js';
import { isWebhookUrl } from './rules/webhook.js';

export const webhookFields = {
  webhookUrl: {
    schema: z.string().max(2_000).refine(isWebhookUrl),
    must: 'an http or https URL of at most 2000 characters, without user and fragment',
    description: 'URL to which events are sent. Use https: the body is signed, not encrypted.',
  },
  mailAddress: {
    schema: z.string().max(254).refine(isMailAddress),
    must: 'one email address such as you@example.com, in ASCII',
    description: 'Address to which email is sent, in ASCII. Write an internationalized domain in its xn-- form.',
  },
  webhookEvents: {
    schema: z
      .array(z.enum(Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]))
      .min(1)
      .max(MAX_LIST),
    must: 'a list of at least one event type',
    description: 'Event types to send. By default all.',
  },
  balanceBelow: {
    schema: z.bigint().min(0n).max(1_000_000_000_000n),
    must: 'an amount from 0 to 1000000 USD',
    description:
      'Low-balance threshold in USD: the account is notified when the balance falls to it. Null disables the notice.',
  },
} satisfies Record<string, Field<unknown>>;

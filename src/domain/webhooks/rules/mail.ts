import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { EventType } from '../../kernel/events.js';
import type { Settings } from '../../kernel/settings.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../../kernel/time.js';
import { UNPRINTABLE } from '../../kernel/unprintable.js';

/** Maximum length of an email address in SMTP (RFC 5321). */
const MAX_ADDRESS = 254;
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const MAX_LOCAL_PART = 64;
const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i;

/** Validity of an address confirmation link, in seconds. */
export const CONFIRM_SECONDS = SECONDS_PER_DAY;
/** Number of seconds that a confirmation mail counts towards the limits. */
export const CONFIRMATIONS_KEPT_SECONDS = 30n * SECONDS_PER_DAY;
/** Id of the confirmation mail. It isn't an event, so renters can't subscribe to it. */
export const CONFIRMATION = 'mail.confirm';

/**
 * Maximum number of confirmation mails per day and per 30 days. They are limited because their recipients may be
 * strangers.
 */
export const MAX_CONFIRMATIONS = {
  account: { day: 5, month: 50 },
  mailbox: { day: 3, month: 6 },
  network: { day: 10, month: 100 },
} as const;
export type ConfirmationScope = keyof typeof MAX_CONFIRMATIONS;

/**
 * Whether the text is a single plain ASCII address that no mail program or server could mistake for two addresses or
 * for a header.
 */
export function isMailAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  return (
    at > 0 &&
    text.length <= MAX_ADDRESS &&
    local.length <= MAX_LOCAL_PART &&
    LOCAL_PART.test(local) &&
    DOMAIN.test(domain)
  );
}

/** Hashes an address's mailbox. Case, dots and anything after a plus sign are ignored, as many providers do. */
export function mailboxOf(address: string): Buffer {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at).toLowerCase().replace(/\+.*$/, '').replaceAll('.', '');
  return createHash('sha256')
    .update(`${local}@${address.slice(at + 1).toLowerCase()}`)
    .digest();
}

/** The purpose of a link in a mail. */
export type LinkPurpose = 'confirm' | 'end';

export function linkToken(secret: string, purpose: LinkPurpose, id: string): string {
  return createHmac('sha256', secret).update(`${purpose} ${id}`).digest('base64url');
}

export function isLinkToken(token: string, secret: string, purpose: LinkPurpose, id: string): boolean {
  const right = Buffer.from(linkToken(secret, purpose, id));
  const bytes = Buffer.from(token);
  return bytes.length === right.length && timingSafeEqual(bytes, right);
}

/** A paragraph of a mail, which may end with a link. */
export interface Paragraph {
  text: string;
  link?: { label: string; url: string };
}

/** The content of a mail, which is sent both as plain text and as HTML. */
export interface MailContent {
  /** The first sentence. */
  lead: string;
  /** Names and values. They contain no control characters, but any others. */
  facts: readonly (readonly [name: string, value: string])[];
  paragraphs: readonly Paragraph[];
}

export interface Mail {
  to: string;
  subject: string;
  content: MailContent;
  /** Id of the message, which is the same for every delivery attempt. */
  id: string;
  /** URL to which a POST request unsubscribes from such mail (RFC 8058). Null for the confirmation mail. */
  endUrl: string | null;
}

/** The service, as mails name it. */
type Service = Pick<Settings, 'operatorName' | 'publicUrl'>;

interface MailedEvent {
  id: string;
  type: string;
  at: Instant;
  data: Readonly<Record<string, unknown>>;
}

/** Returns the mail that notifies an account of an event. */
export function mailOfEvent({ id, type, at, data }: MailedEvent, to: string, service: Service, endUrl: string): Mail {
  const values = plainValues(data);
  const sentence = SENTENCES[type as EventType]?.(values) ?? `${type} happened`;
  return {
    to,
    subject: sentence.slice(0, MAX_SUBJECT),
    content: {
      lead: `${sentence}.`,
      facts: [
        ['time', formatInstant(at)],
        ...Object.entries(values).map(([name, value]) => [name.replaceAll('_', ' '), value] as const),
        ['event', `${plain(type)} ${id}`],
      ],
      paragraphs: [
        {
          text: `Your account at ${service.operatorName}:`,
          link: { label: 'Open the console', url: service.publicUrl },
        },
        { text: 'You are receiving this email because this address was confirmed for notices about an account there.' },
        { text: 'To stop these emails:', link: { label: 'Unsubscribe', url: endUrl } },
      ],
    },
    id,
    endUrl,
  };
}

/**
 * Returns the mail that asks an address's owner for confirmation. It contains no text supplied by the client that
 * entered the address.
 */
export function confirmationMail(id: string, to: string, service: Service, confirmUrl: string): Mail {
  return {
    to,
    subject: 'Please confirm this address for notices',
    content: {
      lead: `The owner of an account at ${service.operatorName} (${service.publicUrl}) requested that notices be sent to this address.`,
      facts: [],
      paragraphs: [
        {
          text: 'If that was you, open this link within one day and confirm:',
          link: { label: 'Confirm this address', url: confirmUrl },
        },
        { text: 'If it was not you, ignore this email. Nothing more is sent unless you confirm.' },
      ],
    },
    id,
    endUrl: null,
  };
}

const MAX_SUBJECT = 150;
const MAX_VALUE = 200;
const MAX_VALUES = 20;

/** Formats values as plain text. Some of them come from payment processors, hosts or clients and can't be trusted. */
function plainValues(data: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(data).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries.slice(0, MAX_VALUES).map(([name, value]) => [plain(name), plain(value)]));
}

/**
 * Formats a value as a single line that can't hide anything. Control characters, direction marks and line separators
 * are replaced.
 */
function plain(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, MAX_VALUE).replace(UNPRINTABLE, '\u{fffd}');
}

type Values = Readonly<Record<string, string>>;

const lead = (values: Values) => (values.seconds_before === '600' ? 'in ten minutes' : 'in an hour');
const stopped = (values: Values) => (values.reason === undefined ? '' : `: ${values.reason.replaceAll('_', ' ')}`);

const LIMITS: Readonly<Record<string, string>> = {
  instance: 'its spend limit',
  key: 'the monthly limit of its API key',
  account: 'the monthly limit of the account',
};
const why = ({ cause, limit_of }: Values) => LIMITS[limit_of ?? ''] ?? `its ${cause}`;

/** One sentence per event type, without a full stop because it also serves as the subject line. */
const SENTENCES: Readonly<Record<EventType, (values: Values) => string>> = {
  'instance.running': (values) => `Instance ${values.instance} is running`,
  'instance.stopped': (values) => `Instance ${values.instance} stopped${stopped(values)}`,
  'instance.failed': (values) => `Instance ${values.instance} could not be started`,
  'instance.preempted': (values) => `Instance ${values.instance} was preempted by another rental and stopped`,
  'instance.destroyed': (values) => `Instance ${values.instance} was destroyed${stopped(values)}`,
  'instance.ending': (values) =>
    `Instance ${values.instance} ${values.does === 'destroy' ? 'is destroyed' : 'stops'} ${lead(values)}: ${why(values)}`,
  'instance.gpu_missing': (values) => `A GPU of instance ${values.instance} is missing on its host`,
  'instance.idle_soon': (values) => `Instance ${values.instance} stops in two minutes because it is idle`,
  'balance.ending': (values) => `Your credit runs out ${lead(values)}`,
  'balance.low': (values) => `Your balance is low: ${values.balance} USD`,
  'balance.exhausted': () => 'Your credit ran out: all running instances were stopped',
  'balance.credited': (values) => `${values.usd} USD were credited to your account`,
  'topup.seen': (values) => `A payment for top-up ${values.top_up} was seen`,
  'topup.confirming': (values) => `A payment for top-up ${values.top_up} is being confirmed`,
  'topup.quarantined': (values) => `A payment for top-up ${values.top_up} is quarantined until it is confirmed`,
  'topup.credited': (values) => `A payment for top-up ${values.top_up} was credited`,
  'topup.refused': (values) => `A payment for top-up ${values.top_up} was refused`,
  'topup.gone': (values) => `A payment for top-up ${values.top_up} was replaced or never arrived`,
  'topup.reversed': (values) => `The credit for top-up ${values.top_up} was reversed`,
  'key.new_network': (values) => `API key ${values.key} was used from a new network: ${values.network}`,
  'webhook.paused': (values) => `Webhook ${values.webhook} is paused: ${values.reason}`,
  'webhook.test': () => 'This is a test',
  'mail.paused': (values) => `Email is paused: ${values.reason}`,
  'mail.test': () => 'This is a test email',
};

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { EventType } from './events.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from './time.js';

/** Of SMTP (RFC 5321), with what leads to it. */
const MAX_ADDRESS = 254;
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const MAX_LOCAL_PART = 64;
const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i;

/** The link that confirms an address is valid for so long. */
export const CONFIRM_SECONDS = SECONDS_PER_DAY;
/** How long questions count. */
export const QUESTIONS_KEPT_SECONDS = 30n * SECONDS_PER_DAY;
/** The mail that asks whether an address wants mail: no event, and so for nobody to choose. */
export const CONFIRMATION = 'mail.confirm';

/** Questions that may be sent in a day, or in 30 days: strangers never asked for them. */
export const MAX_QUESTIONS = {
  account: { day: 5, month: 50 },
  mailbox: { day: 3, month: 6 },
  network: { day: 10, month: 100 },
} as const;
export type Asked = keyof typeof MAX_QUESTIONS;

/** One plain mailbox in ASCII: nothing that a mail program or server could read as two, or as a header. */
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

/** A hash of the mailbox that an address leads to: many providers ignore case, dots, and what follows a plus sign. */
export function mailboxOf(address: string): Buffer {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at).toLowerCase().replace(/\+.*$/, '').replaceAll('.', '');
  return createHash('sha256')
    .update(`${local}@${address.slice(at + 1).toLowerCase()}`)
    .digest();
}

/** What a link does: it proves that somebody read a mail. */
export type LinkPurpose = 'confirm' | 'end';

export function linkToken(secret: string, purpose: LinkPurpose, id: string): string {
  return createHmac('sha256', secret).update(`${purpose} ${id}`).digest('base64url');
}

export function isLinkToken(given: string, secret: string, purpose: LinkPurpose, id: string): boolean {
  const right = Buffer.from(linkToken(secret, purpose, id));
  const bytes = Buffer.from(given);
  return bytes.length === right.length && timingSafeEqual(bytes, right);
}

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The same each time that it is sent. */
  id: string;
  /** Where a POST ends such mails (RFC 8058); null for the one that asks. */
  endUrl: string | null;
}

interface Told {
  id: string;
  type: string;
  at: Instant;
  data: Readonly<Record<string, unknown>>;
}

/** The mail that tells of an event. */
export function mailOfEvent({ id, type, at, data }: Told, to: string, publicUrl: string, endUrl: string): Mail {
  const said = wordsOf(data);
  const sentence = SENTENCES[type as EventType]?.(said) ?? `${type} happened`;
  const facts = Object.entries(said).map(([name, value]) => `  ${name.replaceAll('_', ' ')}: ${value}`);
  return {
    to,
    subject: sentence.slice(0, MAX_SUBJECT),
    text: [
      `${sentence}.`,
      '',
      `  time: ${formatInstant(at)}`,
      ...facts,
      `  event: ${plain(type)} ${id}`,
      '',
      `Your account: ${publicUrl}`,
      '',
      'You get this mail because this address was confirmed there for notices of an account.',
      `To end these mails, open ${endUrl}`,
      '',
    ].join('\n'),
    id,
    endUrl,
  };
}

/** Asks whoever reads the address. Nothing in it is written by whoever gave the address. */
export function mailOfQuestion(id: string, to: string, publicUrl: string, confirmUrl: string): Mail {
  return {
    to,
    subject: 'Please confirm this address for notices',
    text: [
      `Somebody with an account at ${publicUrl} asked that notices be sent to this address.`,
      '',
      `If that was you, open this link within a day, and confirm:`,
      confirmUrl,
      '',
      'If it was not you, do nothing: without the confirmation nothing more is sent.',
      '',
    ].join('\n'),
    id,
    endUrl: null,
  };
}

const MAX_SUBJECT = 150;
const MAX_VALUE = 200;
const MAX_VALUES = 20;

/** Values as plain words. Some come from others: from payment processors, from hosts, from clients. */
function wordsOf(data: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(data).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(given.slice(0, MAX_VALUES).map(([name, value]) => [plain(name), plain(value)]));
}

/** One line that shows what it is: without control characters, turns of direction and line ends of any alphabet. */
function plain(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, MAX_VALUE).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '\u{fffd}');
}

type Words = Readonly<Record<string, string>>;

const lead = (said: Words) => (said.seconds_before === '600' ? 'in ten minutes' : 'in an hour');
const stopped = (said: Words) => (said.reason === undefined ? '' : `: ${said.reason.replaceAll('_', ' ')}`);

const LIMITS: Readonly<Record<string, string>> = {
  instance: 'its spend limit',
  key: 'the monthly limit of its API key',
  account: 'the monthly limit of the account',
};
const why = ({ cause, limit_of }: Words) => LIMITS[limit_of ?? ''] ?? `its ${cause}`;

/** One sentence for each type of event, without its full stop: it is the subject, too. */
const SENTENCES: Readonly<Record<EventType, (said: Words) => string>> = {
  'instance.running': (said) => `Instance ${said.instance} is running`,
  'instance.stopped': (said) => `Instance ${said.instance} stopped${stopped(said)}`,
  'instance.failed': (said) => `Instance ${said.instance} could not be started`,
  'instance.preempted': (said) => `Instance ${said.instance} had to leave for another rental and stopped`,
  'instance.destroyed': (said) => `Instance ${said.instance} was destroyed${stopped(said)}`,
  'instance.ending': (said) =>
    `Instance ${said.instance} ${said.does === 'destroy' ? 'is destroyed' : 'stops'} ${lead(said)}: ${why(said)}`,
  'instance.gpu_missing': (said) => `A GPU of instance ${said.instance} is gone from its host`,
  'instance.idle_soon': (said) => `Instance ${said.instance} stops in two minutes: nothing happens on it`,
  'balance.ending': (said) => `Your credit runs out ${lead(said)}`,
  'balance.low': (said) => `Your balance is low: ${said.balance} USD`,
  'balance.exhausted': () => 'Your credit ran out: everything that ran has stopped',
  'balance.credited': (said) => `${said.usd} USD were credited to your account`,
  'topup.seen': (said) => `A payment of top-up ${said.top_up} was seen`,
  'topup.confirming': (said) => `A payment of top-up ${said.top_up} is being confirmed`,
  'topup.quarantined': (said) => `A payment of top-up ${said.top_up} is kept aside until it is confirmed`,
  'topup.credited': (said) => `A payment of top-up ${said.top_up} was credited`,
  'topup.refused': (said) => `A payment of top-up ${said.top_up} is not credited`,
  'topup.gone': (said) => `A payment of top-up ${said.top_up} was replaced or never came`,
  'topup.reversed': (said) => `The credit for top-up ${said.top_up} was taken back`,
  'key.new_network': (said) => `API key ${said.key} was used from a new network: ${said.network}`,
  'webhook.paused': (said) => `Webhook ${said.webhook} is paused: ${said.reason}`,
  'webhook.test': () => 'This is a test',
  'mail.paused': (said) => `Mail is paused: ${said.reason}`,
  'mail.test': () => 'This is a test mail',
};

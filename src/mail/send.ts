import type { Transporter } from 'nodemailer';
import type { Mail } from '../domain/rules/mail.js';
import type { Attempt } from '../domain/rules/webhook.js';
import type { SendMail } from '../domain/webhooks/receiver.js';

/** For one mail, with name, connection and TLS. A lease of the domain lasts longer. */
const WITHIN_MS = 20_000;
const MAX_ERROR = 200;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

export interface MailSettings {
  /** smtp: begins in clear and turns to TLS by STARTTLS; smtps: is TLS from the first byte. */
  url: string;
  /** Of smtp: whether a server that offers no STARTTLS is sent to in clear. */
  tls: 'required' | 'offered';
  /** What mails come from: an address, or a name with one in angle brackets. */
  from: string;
  /** Told when mails can't be sent, with the reason, and null when they can again: once for each change. */
  onDelivery(reason: string | null): void;
  withinMs?: number;
}

/** Sends by the operator's server, each mail by a connection of its own. */
export function createMailSender({ url, tls, from, onDelivery, withinMs = WITHIN_MS }: MailSettings): SendMail {
  let transport: Promise<Transporter> | undefined;
  let isDown = false;
  const noteState = (reason: string | null) => {
    if (isDown !== (reason !== null)) onDelivery(reason);
    isDown = reason !== null;
  };
  const domain = /@([^>]+)/.exec(from)![1]!;
  return async (mail) => {
    transport ??= openTransport(url, tls);
    const ended = new AbortController();
    const late = setTimeout(() => ended.abort(new Error(`no answer within ${withinMs / 1_000} s`)), withinMs);
    try {
      await (await transport).sendMail({
        ...messageOf(mail),
        messageId: `<${mail.id}@${domain}>`,
        from,
        signal: ended.signal,
      });
      noteState(null);
      return { status: 250, error: null };
    } catch (error) {
      const { attempt, isServers } = outcomeOf(error as SmtpError, ended.signal);
      if (isServers) noteState((error as Error).message.slice(0, MAX_ERROR));
      return attempt;
    } finally {
      clearTimeout(late);
    }
  };
}

async function openTransport(address: string, tls: MailSettings['tls']): Promise<Transporter> {
  // Only a gateway that sends mails needs it.
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port, username, password } = new URL(address);
  const isSecure = protocol === 'smtps:';
  return createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? PORTS[protocol]! : Number(port),
    secure: isSecure,
    requireTLS: !isSecure && tls === 'required',
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function messageOf({ to, subject, text, endUrl }: Mail) {
  return {
    to: { name: '', address: to },
    subject,
    text,
    textEncoding: 'quoted-printable' as const,
    // No program answers it with a note of absence (RFC 3834).
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...(endUrl !== null && {
        'List-Unsubscribe': { prepared: true, foldLines: false, value: `<${endUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
  };
}

interface SmtpError extends Error {
  responseCode?: number;
  response?: string;
  command?: string;
}

/** What the account may read of a failure: of its own address all, of the operator's server the number alone. */
function outcomeOf(
  { responseCode, response, command, message }: SmtpError,
  signal: AbortSignal,
): { attempt: Attempt; isServers: boolean } {
  const status = responseCode ?? null;
  if (status !== null && command === 'RCPT TO') {
    const error = (response ?? message).replace(/\s+/g, ' ').slice(0, MAX_ERROR);
    return { attempt: { status, error, isFinal: status >= 500 }, isServers: false };
  }
  const said = signal.aborted ? (signal.reason as Error).message : 'it can not be reached';
  const error = `the mail server of this service: ${status === null ? said : `answer ${status}`}`;
  return { attempt: { status, error }, isServers: true };
}

import type { Transporter } from 'nodemailer';
import type { SendMail } from '../domain/webhooks/receiver.js';
import type { Mail } from '../domain/webhooks/rules/mail.js';
import type { Attempt } from '../domain/webhooks/rules/webhook.js';
import { htmlPage, LOGO_ID, type MailBrand, plainText } from './content.js';

/**
 * Time limit for sending one mail, including DNS, connecting and TLS. The domain's lease on an address lasts longer.
 */
const WITHIN_MS = 20_000;
const MAX_ERROR = 200;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

export interface MailSettings {
  /**
   * With smtp:, the connection starts in plaintext and is upgraded to TLS with STARTTLS. With smtps:, it uses TLS from
   * the start.
   */
  url: string;
  /** Applies only to smtp: whether mail is sent in plaintext if the server doesn't support STARTTLS. */
  tls: 'required' | 'offered';
  /** The sender, which is an address or a name followed by an address in angle brackets. */
  from: string;
  brand: MailBrand;
  /** Called whenever this changes: with the reason when sending starts to fail, and with null when it works again. */
  onDelivery(reason: string | null): void;
  withinMs?: number;
}

/** Returns a function that sends mail through the operator's server, using one connection per mail. */
export function createMailSender(settings: MailSettings): SendMail {
  const { url, tls, from, brand, onDelivery, withinMs = WITHIN_MS } = settings;
  let transport: Promise<Transporter> | undefined;
  let isDown = false;
  const reportState = (reason: string | null) => {
    if (isDown !== (reason !== null)) onDelivery(reason);
    isDown = reason !== null;
  };
  const domain = /@([^>]+)/.exec(from)![1]!;
  return async (mail) => {
    transport ??= openTransport(url, tls);
    const ended = new AbortController();
    const late = setTimeout(() => ended.abort(new Error(`no response within ${withinMs / 1_000} s`)), withinMs);
    try {
      await (await transport).sendMail({
        ...messageOf(mail, brand),
        messageId: `<${mail.id}@${domain}>`,
        from,
        signal: ended.signal,
      });
      reportState(null);
      return { status: 250, error: null };
    } catch (error) {
      const { attempt, isServers } = outcomeOf(error as SmtpError, ended.signal);
      if (isServers) reportState((error as Error).message.slice(0, MAX_ERROR));
      return attempt;
    } finally {
      clearTimeout(late);
    }
  };
}

async function openTransport(address: string, tls: MailSettings['tls']): Promise<Transporter> {
  // Imported here, because only gateways that send mail need it.
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

function messageOf({ to, subject, content, endUrl }: Mail, brand: MailBrand) {
  return {
    to: { name: '', address: to },
    subject,
    text: plainText(content),
    html: htmlPage(content, brand),
    ...(brand.logo !== null && {
      attachments: [
        {
          filename: 'logo.png',
          cid: LOGO_ID,
          content: brand.logo,
          contentType: 'image/png',
          contentDisposition: 'inline' as const,
        },
      ],
    }),
    textEncoding: 'quoted-printable' as const,
    // Suppresses automatic replies (RFC 3834).
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

/**
 * Returns what the account may see of a failure: everything about its own address, but only the status for the server.
 */
function outcomeOf(
  { responseCode, response, command, message }: SmtpError,
  signal: AbortSignal,
): { attempt: Attempt; isServers: boolean } {
  const status = responseCode ?? null;
  if (status !== null && command === 'RCPT TO') {
    const error = (response ?? message).replace(/\s+/g, ' ').slice(0, MAX_ERROR);
    return { attempt: { status, error, isFinal: status >= 500 }, isServers: false };
  }
  const reason = signal.aborted ? (signal.reason as Error).message : 'unreachable';
  const error = `this service's mail server: ${status === null ? reason : `status ${status}`}`;
  return { attempt: { status, error }, isServers: true };
}

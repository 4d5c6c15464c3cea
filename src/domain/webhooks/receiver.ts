import type { Mail } from '../rules/mail.js';
import type { Attempt } from '../rules/webhook.js';

/** Interface to the receivers of webhooks: sends an HTTP request, bounded in time and size. Never rejects. */
export type SendWebhook = (url: string, headers: Record<string, string>, body: string) => Promise<Attempt>;

/** Interface to the operator's mail server: sends a mail, bounded in time. Never rejects. */
export type SendMail = (mail: Mail) => Promise<Attempt>;

import type { Mail } from './rules/mail.js';
import type { Attempt } from './rules/webhook.js';

/** Sends an HTTP request to a webhook's receiver, with limits on its time and size. Never rejects. */
export type SendWebhook = (url: string, headers: Record<string, string>, body: string) => Promise<Attempt>;

/** Sends a mail through the operator's mail server, within a time limit. Never rejects. */
export type SendMail = (mail: Mail) => Promise<Attempt>;

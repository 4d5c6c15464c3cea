import type { Mail } from '../rules/mail.js';
import type { Attempt } from '../rules/webhook.js';

/** The port to whoever receives webhooks: an HTTP request that is bounded in time and size. Never rejects. */
export type SendWebhook = (url: string, headers: Record<string, string>, body: string) => Promise<Attempt>;

/** The port to the operator's mail server: bounded in time. Never rejects. */
export type SendMail = (mail: Mail) => Promise<Attempt>;

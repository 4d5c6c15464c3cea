import type { Mail } from '../rules/mail.js';
import type { Attempt } from '../rules/webhook.js';

/** Port to the receivers of webhooks: sends an HTTP request that is bounded in time and size. Never rejects. */
export type SendWebhook = (url: string, headers: Record<string, string>, body: string) => Promise<Attempt>;

/** Port to the operator's mail server: bounded in time. Never rejects. */
export type SendMail = (mail: Mail) => Promise<Attempt>;

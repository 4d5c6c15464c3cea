import { type Command, InvalidArgumentError } from 'commander';
import type { DeployRequest } from '../client/index.js';
import { addLabel } from './labels.js';
import { amount } from './market.js';

export const IDLE_TIME = '5m to 24h, such as 30m';
export const WHEN = 'after a duration (90m, 8h, 2d12h) or at a time (2026-11-23T18:00:00Z)';

export interface TermOptions {
  stopAt?: string;
  destroyAt?: string;
  spendLimit?: number;
  stopWhenIdle?: number;
  label?: Record<string, string>;
}

/** Adds the options that label a deployed instance, limit its cost, and stop or destroy it automatically. */
export function withTerms(command: Command): Command {
  return command
    .option('--stop-at <when>', `Stop the instance automatically ${WHEN}`)
    .option('--destroy-at <when>', 'Destroy the instance and its disk automatically; same format')
    .option('--spend-limit <usd>', 'Stop the instance once its total cost reaches this amount in USD', amount)
    .option('--stop-when-idle <time>', `Stop the instance after this much idle time, ${IDLE_TIME}`, idleMinutes)
    .option('--label <key=value>', 'Label for finding the instance in lists; repeatable', addLabel);
}

/** Returns the request fields set by the options. */
export function termsOf({ stopAt, destroyAt, spendLimit, stopWhenIdle, label }: TermOptions): Partial<DeployRequest> {
  return {
    ...(stopAt !== undefined && { stop_at: stopAt }),
    ...(destroyAt !== undefined && { destroy_at: destroyAt }),
    ...(spendLimit !== undefined && { spend_limit: spendLimit }),
    ...(stopWhenIdle !== undefined && { stop_when_idle: stopWhenIdle }),
    ...(label !== undefined && { labels: label }),
  };
}

/** Parses a duration such as 30m, 2h or 1h30m into minutes. */
export function idleMinutes(text: string): number {
  const [, hours = '0', minutes = '0'] = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,5})m)?$/.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  if (total === 0) throw new InvalidArgumentError(`must be ${IDLE_TIME}.`);
  return total;
}

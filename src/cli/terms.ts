import { type Command, InvalidArgumentError } from 'commander';
import type { DeployRequest } from '../client/index.js';
import { addLabel } from './labels.js';
import { amount } from './market.js';
import { RENTAL_TERMS } from './rental-terms.js';
import { addVolume } from './volume-paths.js';

export const IDLE_TIME = '5m to 24h, such as 30m';
export const WHEN = 'after a duration (90m, 8h, 2d12h) or at a time (2026-11-23T18:00:00Z)';

interface Kind {
  /** The option's name, if it is given once per entry of a list. */
  each?: string;
  value: string;
  /** Follows the term's help. */
  format: string;
  parse?: (text: string, before: never) => unknown;
}

/** Options by kind of term. */
const KINDS: Record<(typeof RENTAL_TERMS)[number]['kind'], Kind> = {
  when: { value: 'when', format: ` ${WHEN}` },
  usd: { value: 'usd', format: '', parse: amount },
  minutes: { value: 'time', format: ', such as 30m', parse: idleMinutes },
  labels: { each: 'label', value: 'key=value', format: '; repeatable', parse: addLabel },
  volumes: { each: 'volume', value: 'id:path', format: ', such as v-1a2b3c4d:/data; repeatable', parse: addVolume },
};

/** Adds the options for a rental's optional terms. */
export function withTerms(command: Command): Command {
  for (const { member, kind, help } of RENTAL_TERMS) {
    const { each = member.replaceAll('_', '-'), value, format, parse = String } = KINDS[kind];
    command.option(`--${each} <${value}>`, help + format, parse as (text: string) => unknown);
  }
  return command;
}

/** Returns the request fields set by the options. */
export function termsOf(options: object): Partial<DeployRequest> {
  const given = new Map(Object.entries(options));
  const terms = RENTAL_TERMS.map(({ name, member, kind }) => [member, given.get(KINDS[kind].each ?? name)]);
  return Object.fromEntries(terms.filter(([, value]) => value !== undefined));
}

/** Parses a duration such as 30m, 2h or 1h30m into minutes. */
export function idleMinutes(text: string): number {
  const [, hours = '0', minutes = '0'] = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,5})m)?$/.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  if (total === 0) throw new InvalidArgumentError(`must be ${IDLE_TIME}.`);
  return total;
}

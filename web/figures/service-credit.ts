import { texts } from '../texts/en/statement.js';
import { duration } from './time.js';

/** Translates the service's note on a service credit: "GPU, 12 s: the machine was unreachable". */
export function serviceCreditText(note: string): string {
  const [, resource, seconds, reason] = /^(GPU|disk), (\d+) s: (.+)$/.exec(note) ?? [];
  if (resource === undefined || !Object.hasOwn(texts.reasons, reason!)) return note;
  const kind = texts.kinds[resource === 'GPU' ? 'GPU' : 'DISK'];
  return `${kind}, ${duration(Number(seconds))}: ${texts.reasons[reason as keyof typeof texts.reasons]}`;
}

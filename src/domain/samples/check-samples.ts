import type { Report } from '../../agent-protocol/protocol.js';
import { DomainError } from '../kernel/errors.js';
import { MAX_SAMPLES_OF_INSTANCE } from './rules/samples.js';

/**
 * Throws invalid_request if a report has more samples for one instance than an agent keeps, or if a sample lists the
 * same GPU twice.
 */
export function checkSamples({ samples = [] }: Pick<Report, 'samples'>): void {
  const counted = new Map<string, number>();
  for (const [index, { id, gpus }] of samples.entries()) {
    const count = (counted.get(id) ?? 0) + 1;
    counted.set(id, count);
    if (count > MAX_SAMPLES_OF_INSTANCE)
      throw refusal(`samples must have at most ${MAX_SAMPLES_OF_INSTANCE} entries per instance; ${id} has more`);
    if (new Set(gpus.map(({ place }) => place)).size < gpus.length)
      throw refusal(`samples.${index}.gpus must not repeat a place`);
  }
}

function refusal(message: string): DomainError {
  return new DomainError('invalid_request', message);
}

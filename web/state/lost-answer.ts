import { useEffect } from 'preact/hooks';
import { InstanceByIdempotencyKey } from '../graph/documents.js';
import { Unreachable } from '../graph/send.js';
import { type Instance, takeInstance } from './account.js';
import { useRead } from './read.js';

/**
 * Queries the outcome of a write that got no response, by idempotency key, until the service responds. If there is a
 * result, it is applied and passed to `onFound`. Returns true if nothing was done.
 */
export function useLostAnswer(idempotencyKey: string, error: unknown, onFound: (instance: Instance) => void): boolean {
  const isLost = error instanceof Unreachable && error.isWrite;
  const { data } = useRead(InstanceByIdempotencyKey, isLost ? { idempotencyKey } : null);
  const answer = data.value;
  useEffect(() => {
    if (answer?.instanceByIdempotencyKey == null) return;
    takeInstance(answer.instanceByIdempotencyKey);
    onFound(answer.instanceByIdempotencyKey);
  }, [answer]);
  return isLost && answer !== null && answer.instanceByIdempotencyKey === null;
}

import { useEffect } from 'preact/hooks';
import { InstanceByIdempotencyKey } from '../graph/documents.js';
import { Unreachable } from '../graph/send.js';
import { type Instance, takeInstance } from './account.js';
import { useRead } from './read.js';

/**
 * After a write that got no answer: looks by its idempotency key for what it did, until the service says. What it did is
 * taken and handed to `onFound`; true when it did nothing.
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

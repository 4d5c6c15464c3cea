import { expect, it } from 'vitest';
import { Notices } from '../../../src/database/notices.js';
import {
  MAX_STREAMS_PER_ADDRESS,
  MAX_STREAMS_WITHOUT_KEY,
  STREAMS_FOR_NEWCOMERS,
  SubscriptionRegistry,
} from '../../../src/domain/updates/subscriptions.js';

it('unauthenticated streams are limited, with the last few kept for new addresses', () => {
  const registry = new SubscriptionRegistry(new Notices('postgres://nowhere.invalid/', 'within'));
  /** Returns how many of `count` streams were accepted. */
  const open = (address: string, count: number) => {
    const before = registry.size;
    for (let stream = 0; stream < count; stream += 1) {
      try {
        registry.open('offers', { address });
      } catch (error) {
        expect(error).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 5 });
      }
    }
    return registry.size - before;
  };
  const shared = MAX_STREAMS_WITHOUT_KEY - STREAMS_FOR_NEWCOMERS;
  for (let visitor = 0; visitor < 10; visitor += 1) open(`198.51.100.${visitor}`, MAX_STREAMS_PER_ADDRESS);
  // Each of the last visitors holds one stream.
  expect(registry.size).toBe(shared + 2);
  let accepted = 0;
  for (let visitor = 0; visitor < STREAMS_FOR_NEWCOMERS + 5; visitor += 1) accepted += open(`203.0.113.${visitor}`, 1);
  expect(accepted).toBe(STREAMS_FOR_NEWCOMERS - 2);
  expect(registry.size).toBe(MAX_STREAMS_WITHOUT_KEY);
  const subscriber = { accountId: 'an-account', keyId: 'a-key' };
  expect(registry.open('offers', subscriber)).toBeDefined();
});

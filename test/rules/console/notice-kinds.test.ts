import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../../src/domain/kernel/events.js';
import { NOTICE_KINDS, received, receivedKinds, withKind } from '../../../web/figures/notice-kinds.js';

/** Tests are sent to a recipient regardless of its notices. */
const TESTS = ['webhook.test', 'mail.test'];

describe('the kinds of notices', () => {
  it('contain every type of event except tests exactly once', () => {
    expect([...Object.values(NOTICE_KINDS).flat(), ...TESTS].sort()).toEqual(Object.keys(EVENT_TYPES).sort());
  });

  it('are received by a recipient without a filter, and removed from it one by one', () => {
    expect(receivedKinds(null)).toEqual(Object.keys(NOTICE_KINDS));
    const events = withKind(null, 'credit', false);
    expect(received(events, 'credit')).toBe('none');
    expect(received(events, 'low')).toBe('all');
    expect(receivedKinds(withKind(events, 'credit', true))).toEqual(Object.keys(NOTICE_KINDS));
  });

  it('are marked as partly received, and keep types that belong to none', () => {
    const events = ['instance.running', 'webhook.test'];
    expect(received(events, 'instances')).toBe('some');
    expect(withKind(events, 'instances', true)).toContain('webhook.test');
    expect(new Set(withKind(events, 'instances', true)).size).toBe(NOTICE_KINDS.instances.length + 1);
    expect(withKind(events, 'instances', false)).toEqual(['webhook.test']);
  });
});

/** The kinds of notices that a recipient can choose, each with its types of events. */
export const NOTICE_KINDS = {
  instances: [
    ...(['instance.running', 'instance.stopped', 'instance.failed'] as const),
    ...(['instance.preempted', 'instance.destroyed', 'instance.gpu_missing'] as const),
  ],
  ends: ['instance.ending', 'instance.idle_soon', 'balance.ending'],
  low: ['balance.low'],
  credit: [
    ...(['balance.credited', 'balance.exhausted', 'topup.seen', 'topup.confirming', 'topup.quarantined'] as const),
    ...(['topup.credited', 'topup.refused', 'topup.gone', 'topup.reversed'] as const),
  ],
  network: ['key.new_network'],
  delivery: ['mail.paused', 'webhook.paused'],
} as const satisfies Record<string, readonly string[]>;

export type NoticeKind = keyof typeof NOTICE_KINDS;
/** The types of events that a recipient receives; null for all. */
export type Events = readonly string[] | null;

const KINDS = Object.keys(NOTICE_KINDS) as NoticeKind[];
const ALL: readonly string[] = Object.values(NOTICE_KINDS).flat();

/** Returns whether a recipient receives all events of a kind, some of them or none. */
export function received(events: Events, kind: NoticeKind): 'all' | 'some' | 'none' {
  if (events === null) return 'all';
  const count = NOTICE_KINDS[kind].filter((type) => events.includes(type)).length;
  return count === 0 ? 'none' : count === NOTICE_KINDS[kind].length ? 'all' : 'some';
}

/** Returns the kinds of which a recipient receives at least some events. */
export const receivedKinds = (events: Events): readonly NoticeKind[] =>
  KINDS.filter((kind) => received(events, kind) !== 'none');

/** Returns a recipient's events after a kind was added or removed. Types that belong to no kind remain. */
export function withKind(events: Events, kind: NoticeKind, isOn: boolean): string[] {
  const types: readonly string[] = NOTICE_KINDS[kind];
  const others = (events ?? ALL).filter((type) => !types.includes(type));
  return isOn ? [...others, ...types] : others;
}

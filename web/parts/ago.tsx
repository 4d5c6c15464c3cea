import { useComputed } from '@preact/signals';
import { ago, exactTime } from '../figures/time.js';
import { serverNow } from '../state/clock.js';

/** Shows how long ago a time was, or how far away it is. The exact time appears on hover. */
export function Ago({ at }: { at: number }) {
  // The text changes once a minute, so the row isn't rendered every second.
  const text = useComputed(() => ago(at, serverNow.value));
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={exactTime(at)}>
      {text}
    </time>
  );
}

import { useComputed } from '@preact/signals';
import { dayName } from '../figures/time.js';
import { serverNow } from '../state/clock.js';

/** Shows the local day of a time in seconds, such as "Today". It is drawn again once per day. */
export function DayName({ at }: { at: number }) {
  return <>{useComputed(() => dayName(at, serverNow.value))}</>;
}

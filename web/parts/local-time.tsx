import { localTime, utcTime } from '../figures/time.js';
import { serverNow } from '../state/clock.js';

/** Shows a local time. The UTC time appears on hover. */
export const LocalTime = ({ at, hasSeconds = false }: { at: number; hasSeconds?: boolean }) => (
  <time dateTime={new Date(at * 1_000).toISOString()} title={utcTime(at)}>
    {localTime(at, serverNow.value, hasSeconds)}
  </time>
);

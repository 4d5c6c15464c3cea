import { localTime, utcTime } from '../figures/time.js';
import { serverNow } from '../state/clock.js';

/** Shows a local time. The UTC time appears on hover. */
export const LocalTime = ({ at }: { at: number }) => (
  <time dateTime={new Date(at * 1_000).toISOString()} title={utcTime(at)}>
    {localTime(at, serverNow.value)}
  </time>
);

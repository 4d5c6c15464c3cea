import { isUtcHere, localTime, utcTime } from '../figures/time.js';
import { serverNow } from '../state/clock.js';

/** Shows a local time, with the UTC time next to it if they differ. */
export function Time({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1_000).toISOString()}>
      {localTime(at, serverNow.value)}
      {isUtcHere(at) ? ' UTC' : <span class="quiet small"> ({utcTime(at)})</span>}
    </time>
  );
}

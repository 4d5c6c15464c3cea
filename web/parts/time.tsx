import { isUtcHere, localTime, utcTime } from '../figures/time.js';
import { serverNow } from '../state/clock.js';
import { texts } from '../texts/en/house.js';

/** Shows a local time, with the UTC time next to it if they differ. */
export function Time({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1_000).toISOString()}>
      {localTime(at, serverNow.value)}
      {isUtcHere(at) ? ' UTC' : <span class="quiet small"> ({utcTime(at)})</span>}
    </time>
  );
}

/** Shows a period from one second to another, or a single time if they are equal. */
export function Period({ from, to }: { from: number; to: number }) {
  return from === to ? <Time at={from} /> : texts.period(<Time at={from} />, <Time at={to} />);
}

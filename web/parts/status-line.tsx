import { duration } from '../figures/time.js';
import { clockAhead } from '../state/clock.js';
import { session } from '../state/session.js';
import { connection, limitedUntil, streams } from '../state/stream.js';
import { texts } from '../texts/en/house.js';
import { useSecondsUntil } from './countdown.js';
import { Languages } from './languages.js';

/** Shows the state of the connection behind this page's figures, and any problem with it. */
export function StatusLine() {
  const state = connection.value;
  const isTrouble = state !== 'waiting' && state !== 'live';
  const isIdle = state === 'waiting' && streams.value === 0 && session.value === 'out';
  const ahead = clockAhead.value;
  const seconds = useSecondsUntil(state === 'limited' ? limitedUntil.value : null);
  return (
    <footer class={`status-line${isTrouble || ahead !== 0 ? ' trouble' : ''}`}>
      <span role="status">
        <span class={`dot${state === 'live' ? ' good' : ''}`} aria-hidden="true" />
        {isIdle ? texts.signedOut : texts.connection[state]}
        {state === 'limited' && (
          // Screen readers don't announce the countdown every second.
          <span aria-hidden="true">{texts.resumesIn(seconds)}</span>
        )}
      </span>
      {ahead !== 0 && <span>{(ahead > 0 ? texts.clockFast : texts.clockSlow)(duration(Math.abs(ahead)))}</span>}
      <span class="row">
        <Languages />
        <a href="/graphql">GraphQL</a>
        <a href="/v1/openapi.json">REST</a>
      </span>
    </footer>
  );
}

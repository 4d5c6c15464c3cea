import { duration } from '../figures/time.js';
import { clockAhead } from '../state/clock.js';
import { session } from '../state/session.js';
import { connection, limitedUntil, streams } from '../state/stream.js';
import { waitWords } from '../state/words.js';
import { useSecondsUntil } from './countdown.js';
import { Languages } from './languages.js';

const WORDS = {
  waiting: 'Connecting …',
  live: 'Live',
  restarting: 'The service is restarting. The page goes on by itself; what runs goes on running.',
  limited: 'This account asked more than it may within a minute. The page goes on by itself',
  lost: 'No connection to the service. Figures go on from the last answer; the page connects again by itself.',
} as const;

/** What the figures on this page rest on, and what is wrong with that. */
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
        {isIdle ? 'Signed out' : WORDS[state]}
        {state === 'limited' && (
          // Not said to a screen reader each second.
          <span aria-hidden="true"> {waitWords(seconds)}.</span>
        )}
      </span>
      {ahead !== 0 && (
        <span>
          The clock of this computer is {duration(Math.abs(ahead))} {ahead > 0 ? 'fast' : 'slow'}. Figures follow the
          service's clock.
        </span>
      )}
      <span class="row">
        <Languages />
        <a href="/graphql">GraphQL</a>
        <a href="/v1/openapi.json">REST</a>
      </span>
    </footer>
  );
}

import { isFar, localTime } from '../figures/time.js';
import { figures } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { texts } from '../texts/en/runs-out.js';

/**
 * Shows when the credit runs out at the current burn rate. The time is computed by the service, so it is the same on
 * every screen.
 */
export function RunsOut() {
  const known = figures.value;
  if (known === null) return null;
  const { exhaustsAt, burn } = known;
  if (exhaustsAt === null) return <>{burn === 0n ? texts.nothingCosts : texts.lastsForYears}</>;
  if (exhaustsAt <= serverNow.value) return <span class="bad">{texts.ranOut}</span>;
  const now = serverNow.value;
  return texts.runsOut(localTime(exhaustsAt, now), isFar(exhaustsAt, now));
}

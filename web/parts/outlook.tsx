import { balanceNow, type Figures } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { texts } from '../texts/en/balance.js';
import { Time } from './time.js';

const SECONDS_PER_DAY = 86_400;

/** Explains what happens when the credit runs out. Empty if it doesn't at the current burn rate. */
export function Outlook({ known: { exhaustsAt, diskDeleteAt } }: { known: Figures }) {
  if (balanceNow.value <= 0n && diskDeleteAt !== null)
    return <p class="notice bad">{texts.over(<Time at={diskDeleteAt} />)}</p>;
  if (exhaustsAt === null) return null;
  if (exhaustsAt <= serverNow.value) return <p>{texts.ranOut}</p>;
  const days = Math.ceil(((diskDeleteAt ?? exhaustsAt) - exhaustsAt) / SECONDS_PER_DAY);
  return <p>{texts.runsOut(<Time at={exhaustsAt} />, days)}</p>;
}

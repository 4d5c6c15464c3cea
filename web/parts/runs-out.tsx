import { localTime } from '../figures/time.js';
import { settled } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { Time } from './time.js';

/** When credit runs out at the present burn: the service's own answer, the same on every screen. */
export function RunsOut({ isShort = false }: { isShort?: boolean }) {
  const known = settled.value;
  if (known === null) return null;
  const { exhaustsAt, burn } = known;
  if (exhaustsAt === null) return <>{burn === 0n ? 'nothing costs now' : 'lasts for years'}</>;
  if (exhaustsAt <= serverNow.value) return <span class="bad">ran out</span>;
  if (isShort) return <>runs out {localTime(exhaustsAt, serverNow.value)}</>;
  return (
    <>
      runs out <Time at={exhaustsAt} />
    </>
  );
}

import { usd } from '../figures/money.js';
import { balanceNow, settled } from '../state/account.js';
import { path } from '../state/location.js';
import { isExpectedIn, session, signOut } from '../state/session.js';
import { isMac, overlay } from '../state/shortcuts.js';
import { Icon } from './icon.js';
import { RunsOut } from './runs-out.js';

type Link = readonly [to: string, name: string, icon: string];

/** What is looked at often, and below it what is seldom. */
const OFTEN: readonly Link[] = [
  ['/', 'Home', 'house'],
  ['/machines', 'Machines', 'server'],
  ['/instances', 'Instances', 'square-terminal'],
  ['/volumes', 'Volumes', 'hard-drive'],
  ['/money', 'Money', 'wallet'],
];
const SELDOM: readonly Link[] = [
  ['/keys', 'Keys', 'key-round'],
  ['/activity', 'Activity', 'history'],
  ['/webhooks', 'Webhooks', 'webhook'],
];

/** For strangers. */
const OPEN: readonly Link[] = [
  ['/machines', 'Machines', 'server'],
  ['/graphql', 'API', 'code'],
];

/** At the side with all screens for those signed in, above for strangers. */
export function Head() {
  const isIn = session.value === 'in' || (session.value === 'unknown' && isExpectedIn());
  return (
    <header class={`head${isIn ? ' side' : ''}`}>
      <div class="head-inner">
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" />
          GPU rental
        </a>
        <Find />
        <nav class="nav" aria-label="Screens">
          <Links of={isIn ? OFTEN : OPEN} />
          {isIn && <hr />}
          {isIn && <Links of={SELDOM} />}
        </nav>
        <div class="head-end">
          {settled.value !== null && (
            <a class="head-balance figure" href="/money">
              <strong>{usd(balanceNow.value)} USD</strong>
              <span class="small quiet">
                <RunsOut />
              </span>
            </a>
          )}
          {session.value === 'in' && (
            <button type="button" class="sign-out" onClick={() => void signOut()}>
              <Icon name="log-out" />
              Sign out
            </button>
          )}
          {session.value === 'out' && (
            <a class="button" href="/sign-in">
              Sign in
            </a>
          )}
        </div>
      </div>
    </header>
  );
}

/** Opens the palette, for those who do not know its keys. */
const Find = () => (
  <button
    type="button"
    class="find"
    aria-keyshortcuts={isMac() ? 'Meta+K' : 'Control+K'}
    onClick={() => {
      overlay.value = 'palette';
    }}
  >
    <Icon name="search" />
    <span>Find</span>
    <kbd>{isMac() ? '⌘ K' : 'Ctrl K'}</kbd>
  </button>
);

function Links({ of: links }: { of: readonly Link[] }) {
  const first = `/${path.value.split('/')[1]}`;
  return links.map(([to, name, icon]) => (
    <a key={to} href={to} aria-current={first === to ? 'page' : undefined}>
      <Icon name={icon} />
      {name}
    </a>
  ));
}

import { useEffect, useRef } from 'preact/hooks';
import { usd } from '../figures/money.js';
import { balanceNow, settled } from '../state/account.js';
import { brandLogo, brandName } from '../state/brand.js';
import { path } from '../state/location.js';
import { PRIMARY, type Screen, SECONDARY } from '../state/screens.js';
import { isExpectedIn, session, signOut } from '../state/session.js';
import { isMac, overlay } from '../state/shortcuts.js';
import { texts } from '../texts/en/head.js';
import { texts as house } from '../texts/en/house.js';
import { screens } from '../texts/en/screens.js';
import { Icon } from './icon.js';
import { Languages } from './languages.js';
import { RunsOut } from './runs-out.js';

/** Screens for visitors who aren't signed in. */
const OPEN = PRIMARY.filter(([to]) => to === '/machines');

/**
 * Shows the navigation. If the user is signed in, it is at the side and contains all screens. Otherwise, it is at the
 * top.
 */
export function Head() {
  const isIn = session.value === 'in' || (session.value === 'unknown' && isExpectedIn());
  return (
    <header class={`head${isIn ? ' side' : ''}`}>
      <div class="head-inner">
        <a class="brand" href="/" title={brandName}>
          <img src={brandLogo} alt="" />
          <span>{brandName}</span>
        </a>
        <Find />
        <nav class="nav" aria-label={texts.screens}>
          <Links of={isIn ? PRIMARY : OPEN} />
          {isIn ? (
            <More />
          ) : (
            <a href="/graphql">
              <Icon name="code" />
              {texts.api}
            </a>
          )}
        </nav>
        <div class="head-end">
          {settled.value !== null && (
            <a class="head-balance figure" href="/billing">
              <strong>{usd(balanceNow.value)} USD</strong>
              <span class="small quiet">
                <RunsOut />
              </span>
            </a>
          )}
          {session.value === 'in' && <SignOut />}
          {session.value === 'out' && path.value !== '/sign-in' && (
            <a class="button" href="/sign-in">
              {texts.signIn}
            </a>
          )}
        </div>
      </div>
    </header>
  );
}

/** A button that opens the palette, for users who don't know its shortcut. */
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
    <span>{texts.find}</span>
    <kbd>{isMac() ? '⌘' : house.control} K</kbd>
  </button>
);

const SignOut = () => (
  <button type="button" class="sign-out" onClick={() => void signOut()}>
    <Icon name="log-out" />
    <span>{texts.signOut}</span>
  </button>
);

/** Less frequently used screens, which are listed if there is room and otherwise hidden behind a button. */
function More() {
  const rest = useRef<HTMLDivElement>(null);
  const at = path.value;
  useEffect(() => rest.current?.hidePopover(), [at]);
  const isHere = SECONDARY.some(([to]) => isAt(to));
  return (
    <>
      <hr />
      <button type="button" class={`nav-more${isHere ? ' here' : ''}`} popovertarget="nav-rest">
        <Icon name="ellipsis" />
        {texts.more}
      </button>
      <div id="nav-rest" ref={rest} class="nav-rest" popover="auto">
        <Links of={SECONDARY} />
        {/* On a phone, these have no other place. */}
        <div class="nav-account">
          <Languages hasIcon />
          {session.value === 'in' && <SignOut />}
        </div>
      </div>
    </>
  );
}

/** Screens without their own link, with the link they belong to. */
const BELOW: Readonly<Record<string, string>> = {
  '/deploy': '/machines',
  '/launch': '/machines',
  '/models': '/machines',
};

function isAt(to: string): boolean {
  const first = `/${path.value.split('/')[1]}`;
  return to === (BELOW[first] ?? first);
}

function Links({ of: links }: { of: readonly Screen[] }) {
  return links.map(([to, icon]) => (
    <a key={to} href={to} aria-current={isAt(to) ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{screens[to]}</span>
    </a>
  ));
}

import { useEffect } from 'preact/hooks';
import { usd } from '../figures/money.js';
import { balanceNow, settled } from '../state/account.js';
import { path } from '../state/location.js';
import { isExpectedIn, session, signOut } from '../state/session.js';
import { isMac, overlay } from '../state/shortcuts.js';
import { texts } from '../texts/en/head.js';
import { texts as house } from '../texts/en/house.js';
import { useDisclosure } from './disclosure.js';
import { Icon } from './icon.js';
import { RunsOut } from './runs-out.js';

type Link = readonly [to: string, name: string, icon: string];

/** Frequently used screens. On a phone, they are in the bar at the bottom. */
const PRIMARY: readonly Link[] = [
  ['/', texts.home, 'house'],
  ['/machines', texts.machines, 'server'],
  ['/instances', texts.instances, 'square-terminal'],
  ['/money', texts.money, 'wallet'],
];
/** Other screens. On a phone, they are behind a button. */
const SECONDARY: readonly Link[] = [
  ['/volumes', texts.volumes, 'hard-drive'],
  ['/keys', texts.keys, 'key-round'],
  ['/activity', texts.activity, 'history'],
  ['/webhooks', texts.webhooks, 'webhook'],
];

/** Screens for visitors who aren't signed in. */
const OPEN: readonly Link[] = [
  ['/machines', texts.machines, 'server'],
  ['/graphql', texts.api, 'code'],
];

/**
 * Shows the navigation. If the user is signed in, it is at the side and contains all screens. Otherwise, it is at the
 * top.
 */
export function Head() {
  const isIn = session.value === 'in' || (session.value === 'unknown' && isExpectedIn());
  return (
    <header class={`head${isIn ? ' side' : ''}`}>
      <div class="head-inner">
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" />
          {texts.brand}
        </a>
        <Find />
        <nav class="nav" aria-label={texts.screens}>
          <Links of={isIn ? PRIMARY : OPEN} />
          {isIn && <hr />}
          {isIn && <More />}
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
              {texts.signOut}
            </button>
          )}
          {session.value === 'out' && (
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

/** Less frequently used screens, which are listed if there is room and otherwise hidden behind a button. */
function More() {
  const { isOpen, button, content } = useDisclosure();
  const at = path.value;
  useEffect(() => {
    isOpen.value = false;
  }, [at]);
  const isHere = SECONDARY.some(([to]) => isAt(to));
  return (
    <>
      <button
        type="button"
        ref={button}
        class={`nav-more${isHere ? ' here' : ''}`}
        aria-expanded={isOpen.value}
        aria-controls="nav-rest"
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <Icon name="ellipsis" />
        {texts.more}
      </button>
      <div id="nav-rest" ref={content} class={`nav-rest${isOpen.value ? ' open' : ''}`}>
        <Links of={SECONDARY} />
      </div>
    </>
  );
}

/** Screens without their own link, with the link they belong to. */
const BELOW: Readonly<Record<string, string>> = { '/deploy': '/machines', '/launch': '/machines' };

function isAt(to: string): boolean {
  const first = `/${path.value.split('/')[1]}`;
  return to === (BELOW[first] ?? first);
}

function Links({ of: links }: { of: readonly Link[] }) {
  return links.map(([to, name, icon]) => (
    <a key={to} href={to} aria-current={isAt(to) ? 'page' : undefined}>
      <Icon name={icon} />
      {name}
    </a>
  ));
}

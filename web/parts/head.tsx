import { usd } from '../figures/money.js';
import { balanceNow, settled } from '../state/account.js';
import { path } from '../state/location.js';
import { session, signOut } from '../state/session.js';
import { RunsOut } from './runs-out.js';

const SCREENS = [
  ['/', 'Machines'],
  ['/instances', 'Instances'],
  ['/volumes', 'Volumes'],
  ['/money', 'Money'],
  ['/keys', 'Keys'],
] as const;

export function Head() {
  const first = `/${path.value.split('/')[1]}`;
  return (
    <header class="head">
      <div class="head-inner">
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" />
          GPU rental
        </a>
        <nav class="nav" aria-label="Screens">
          {SCREENS.map(([to, name]) => (
            <a key={to} href={to} aria-current={first === to ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div class="head-end">
          {settled.value !== null && (
            <a class="head-balance figure" href="/money">
              <strong>{usd(balanceNow.value)} USD</strong>
              <span class="small quiet">
                <RunsOut isShort />
              </span>
            </a>
          )}
          {session.value === 'in' && (
            <button type="button" onClick={() => void signOut()}>
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

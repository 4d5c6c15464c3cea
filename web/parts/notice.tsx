import type { ComponentChildren } from 'preact';
import { Refusal } from '../graph/send.js';
import { messageOf } from '../state/messages.js';
import { texts } from '../texts/en/errors.js';
import { useSecondsUntil } from './countdown.js';
import { Icon } from './icon.js';

/** An error in plain language, which is announced to screen readers. */
export function Failure({ error }: { error: unknown }) {
  const isLimited = error instanceof Refusal && error.code === 'rate_limited';
  const seconds = useSecondsUntil(isLimited ? error.retryAt : null);
  return error === null || error === undefined ? null : (
    <p class="notice bad">
      <span role="alert">{messageOf(error)}</span>
      {isLimited && texts.tryAgain(seconds)}
    </p>
  );
}

/** Shown after a response was lost and the service has confirmed that nothing was done. */
export function NotArrived({ children }: { children: string }) {
  return (
    <p class="notice warn" role="alert">
      {texts.notArrived(children)}
    </p>
  );
}

/** Shown instead of an empty list: what belongs here, and how to add the first one. */
export function Empty({ icon, title, children }: { icon: string; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {typeof children === 'string' ? <p>{children}</p> : children}
    </div>
  );
}

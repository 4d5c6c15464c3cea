import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Retry } from '../graph/retry.js';
import { Unreachable } from '../graph/send.js';
import { texts } from '../texts/en/house.js';

/** Returns a component whose code is loaded when it is first shown. A failed load is retried after a pause. */
export function loaded<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  // Once loaded, the component is shown without a delay.
  let known: ComponentType<Props> | undefined;
  return (props) => {
    const [isLost, setIsLost] = useState(false);
    const [Part, setPart] = useState(() => known);
    useEffect(() => {
      if (known !== undefined) return;
      const retry = new Retry();
      const attempt = () =>
        load().then(
          (part) => {
            known = part;
            setPart(() => part);
          },
          (error) => {
            setIsLost(true);
            retry.after(new Unreachable(String(error)), attempt);
          },
        );
      void attempt();
      return () => retry.end();
    }, []);
    if (Part !== undefined) return <Part {...props} />;
    if (isLost) return <NotLoaded />;
    return <p class="quiet">{texts.moment}</p>;
  };
}

/**
 * Shown if loading fails. After an upgrade, the code for this version of the page no longer exists, and only a reload
 * fetches the new version.
 */
const NotLoaded = () => (
  <div class="notice warn row between">
    <span role="alert">{texts.notLoaded}</span>
    {navigator.onLine && (
      <button type="button" onClick={() => location.reload()}>
        {texts.reload}
      </button>
    )}
  </div>
);

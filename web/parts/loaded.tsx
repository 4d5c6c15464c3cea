import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../texts/en/house.js';
import { Failure } from './notice.js';

/** A part of the page whose code is loaded when it is first shown. */
export function loaded<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return (props) => {
    const [state, setState] = useState<{ Part?: ComponentType<Props>; error?: unknown }>({});
    useEffect(() => {
      load().then(
        (Part) => setState({ Part }),
        (error) => setState({ error }),
      );
    }, []);
    const { Part, error } = state;
    if (error !== undefined) return <Failure error={error} />;
    return Part === undefined ? <p class="quiet">{texts.moment}</p> : <Part {...props} />;
  };
}

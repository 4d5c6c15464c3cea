import { query, withQuery } from '../state/location.js';

interface Props {
  /** The tabs' description for screen readers. */
  label: string;
  /** The tabs. If the URL names none of them, the first one is shown. */
  of: readonly (readonly [tab: string, name: string])[];
}

/** Returns the tab named in the URL if it is one of `of`, and otherwise the first one. */
export function chosenTab(of: Props['of']): string {
  const requested = query.value.get('tab');
  return of.find(([tab]) => tab === requested)?.[0] ?? of[0]![0];
}

/** The tabs, which are links so that they can be shared, reloaded and navigated back to. */
export function Tabs({ label, of }: Props) {
  const chosen = chosenTab(of);
  return (
    <nav class="tabs" aria-label={label}>
      {of.map(([tab, name], place) => (
        <a
          key={tab}
          href={withQuery({ tab: place === 0 ? null : tab })}
          aria-current={tab === chosen ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

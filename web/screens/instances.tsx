import { number } from '../figures/number.js';
import { statusOf } from '../figures/status.js';
import { Empty } from '../parts/notice.js';
import { settled } from '../state/account.js';
import { instanceFilterOf } from '../state/instance-filter.js';
import { query } from '../state/location.js';
import { useSheet } from '../state/market.js';
import { HISTORY } from '../state/screens.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/instances.js';
import { screens } from '../texts/en/screens.js';
import { History } from './history.js';
import { foundInstances, InstanceList } from './instance-list.js';
import { SavedSearches } from './saved-searches.js';

/** Shows current and past rentals. */
export function Instances() {
  useSheet();
  const isHistory = query.value.get('show') === 'history';
  useTitle(isHistory ? texts.historyTitle : screens['/instances']);
  const instances = settled.value?.instances;
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>{screens['/instances']}</h1>
        <a class="button primary" href="/deploy">
          {screens['/deploy']}
        </a>
      </div>
      <div class="views">
        <Views isHistory={isHistory} />
        {!isHistory && instances !== undefined && instances.length > 0 && (
          <SavedSearches
            of="instances"
            count={(search) =>
              foundInstances(instances, { ...instanceFilterOf(new URLSearchParams(search)), sort: null }).length
            }
          />
        )}
      </div>
      {isHistory ? (
        <History />
      ) : instances === undefined ? (
        <p class="quiet">{texts.reading}</p>
      ) : instances.length === 0 ? (
        <section class="panel" aria-label={texts.activeOnes}>
          <Empty icon="server" title={texts.none}>
            <p>{texts.noneHint}</p>
            <p class="small">{texts.fromTerminal(<code>gpu run --gpu rtx-4090 -- nvidia-smi</code>)}</p>
          </Empty>
        </section>
      ) : (
        <InstanceList instances={instances} />
      )}
    </div>
  );
}

/** The most frequent views: all instances, those in the two usual states, and the history. */
function Views({ isHistory }: { isHistory: boolean }) {
  const instances = settled.value?.instances;
  const status = isHistory ? null : (query.value.get('status') ?? '');
  const tab = (of: '' | 'running' | 'stopped', name: string) => {
    const count = of === '' ? instances?.length : instances?.filter((one) => statusOf(one) === of).length;
    return (
      <a href={of === '' ? '/instances' : `/instances?status=${of}`} aria-current={status === of ? 'page' : undefined}>
        {name}
        {count !== undefined && <span class="view-count figure">{number(count)}</span>}
      </a>
    );
  };
  return (
    <nav class="tabs" aria-label={texts.tabs}>
      {tab('', texts.all)}
      {tab('running', texts.running)}
      {tab('stopped', texts.stopped)}
      <a href={HISTORY} aria-current={isHistory ? 'page' : undefined}>
        {texts.history}
      </a>
    </nav>
  );
}

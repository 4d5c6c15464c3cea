import { useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { statusOf } from '../figures/status.js';
import { visible } from '../figures/visible.js';
import { OneInstance } from '../graph/documents.js';
import { actionItem } from '../parts/actions.js';
import { copyIdItem } from '../parts/copy-id.js';
import { Icon } from '../parts/icon.js';
import { LabelList } from '../parts/labels.js';
import { loaded } from '../parts/loaded.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Status } from '../parts/status.js';
import { chosenTab, Tabs } from '../parts/tabs.js';
import { accountChanges, type Instance, settled } from '../state/account.js';
import { deployAgain } from '../state/deploy-again.js';
import { modelName, regionName, useSheet } from '../state/market.js';
import type { Action } from '../state/pending-action.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/instance.js';
import { texts as launch } from '../texts/en/launch.js';
import { screens } from '../texts/en/screens.js';
import type { OverviewProps } from './instance-overview.js';
import { isStarting, Stage } from './stage.js';

const { overview, ...container } = texts.tabs;
const ACTIVITY = ['activity', screens['/activity']] as const;
/** The tabs, by their names in the URL, with their labels. Without a host agent, there is no container to look into. */
const TABS = [['overview', overview], ...Object.entries(container), ACTIVITY] as const;
const TABS_OF_RECORD = [['overview', overview], ACTIVITY] as const;
const tabsOf = ({ runtime }: Instance) => (runtime === null ? TABS_OF_RECORD : TABS);

/** Each tab's code is loaded when it is shown, because charts and terminals need their own libraries. */
const Overview = loaded(async () => (await import('./instance-overview.js')).Overview);
const Files = loaded(async () => (await import('./files.js')).Files);
const Logs = loaded(async () => (await import('./logs.js')).Logs);
const Terminals = loaded(async () => (await import('./terminal.js')).Terminals);
const Timeline = loaded(async () => (await import('./timeline.js')).Timeline);

/** Shows a rental's current state, its cost and how to reach it. */
export function InstanceScreen({ id }: { id: string }) {
  useSheet();
  const { data, error, again } = useRead(OneInstance, { id }, accountChanges);
  const followed = useComputed(() => settled.value?.instances.find((instance) => instance.id === id));
  const read = data.value?.instance ?? null;
  // The state that the page follows is the newest, but destroyed instances are no longer followed.
  const instance = followed.value ?? read;
  useFocusWhenGone(instance?.status);
  useTitle(
    instance === null ? texts.title(id) : texts.page(instance.numGpus, modelName(instance.gpu), visible(instance.name)),
  );
  if (instance === null) return <NoInstance error={error.value} isAnswered={data.value !== null} />;
  const start = instance.status === 'STOPPED' ? (read?.canStart ?? null) : null;
  return (
    <div class="stack instance" data-tab={chosenTab(tabsOf(instance))}>
      <div class="instance-head">
        <a class="small quiet back" href="/instances">
          <Icon name="chevron-left" />
          {screens['/instances']}
        </a>
        <div class="instance-name">
          <h1 tabIndex={-1}>{visible(instance.name)}</h1>
          <span role="status">
            <Status instance={instance} />
          </span>
        </div>
        <div class="quiet instance-what">
          {instance.name !== id && <span class="mono id">{id}</span>}
          <span>{texts.gpus(instance.numGpus, modelName(instance.gpu))}</span>
          <span>{regionName(instance.region)}</span>
          <LabelList labels={instance.labels} />
        </div>
        <HeadActions instance={instance} start={start} />
      </div>
      <Tabs label={texts.label} of={tabsOf(instance)} />
      {read === null && error.value === null ? (
        <p class="quiet">{texts.moment}</p>
      ) : (
        <Chosen instance={instance} read={read} start={start} onChanged={again} />
      )}
    </div>
  );
}

/** The button that stops or starts the instance, and the menu with its other actions. */
function HeadActions({ instance, start }: Pick<OverviewProps, 'instance' | 'start'>) {
  const { id, status } = instance;
  const again = () => void deployAgain(id);
  const items: MenuItem[] = [{ name: launch.again, icon: 'rocket', onChoose: again }, copyIdItem(id)];
  const item = (action: Action) => actionItem(instance, action, start?.refusal?.message ?? null);
  const main = item(status === 'RUNNING' ? 'STOP' : 'START');
  const isEnded = status === 'DESTROYED';
  return (
    <div class="instance-actions">
      {isEnded ? (
        <button type="button" class="primary" onClick={again}>
          {launch.again}
        </button>
      ) : (
        <button
          type="button"
          class={statusOf(instance) === 'stopped' ? 'primary' : ''}
          aria-label={main.label}
          onClick={main.onChoose}
        >
          {main.name}
        </button>
      )}
      <Menu
        label={house.actionsOf(visible(instance.name))}
        items={isEnded ? items.slice(1) : [...items, item('DESTROY')]}
      />
    </div>
  );
}

/** Shows the content of the selected tab. */
function Chosen(props: OverviewProps) {
  const { instance, read, start } = props;
  const { id, status, runtime } = instance;
  const tab = chosenTab(tabsOf(instance));
  if (tab === 'overview') return <Overview {...props} />;
  if (tab === 'activity') return <Timeline instance={instance} />;
  if (tab === 'log')
    return (
      <>
        {runtime?.message && <p class="notice mono small">{visible(runtime.message)}</p>}
        <Logs id={id} />
      </>
    );
  if (status !== 'RUNNING')
    return (
      <section class="panel">
        <Empty icon={tab === 'terminal' ? 'square-terminal' : 'folder'} title={texts.notRunning}>
          {tab === 'terminal' ? texts.noTerminal : texts.noFiles}
        </Empty>
      </section>
    );
  if (isStarting(instance) || runtime?.phase === 'FAILED')
    return (
      <section class="panel padded" aria-label={texts.state}>
        <Stage instance={instance} start={start} />
      </section>
    );
  if (tab === 'terminal') return <Terminals id={id} user={read?.launch?.user ?? null} />;
  // The paths of the instance's volumes are only known once its details have been read.
  return read === null ? (
    <p class="quiet">{texts.moment}</p>
  ) : (
    <Files
      id={id}
      volumes={read.volumes.map(({ path, volume }) => ({ path, sizeGb: volume.sizeGb }))}
      diskGb={instance.diskGb}
    />
  );
}

function NoInstance({ error, isAnswered }: { error: unknown; isAnswered: boolean }) {
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{texts.instance}</h1>
      <Failure error={error} />
      {isAnswered && (
        <section class="panel">
          <Empty icon="square-terminal" title={texts.unknown}>
            <a class="button" href="/instances">
              {texts.toAll}
            </a>
          </Empty>
        </section>
      )}
    </div>
  );
}

/** Moves the focus to the heading if it was on an action that disappeared when the state changed. */
function useFocusWhenGone(status: string | undefined): void {
  const last = useRef(status);
  useEffect(() => {
    if (last.current !== undefined && last.current !== status && document.activeElement === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
    last.current = status;
  }, [status]);
}

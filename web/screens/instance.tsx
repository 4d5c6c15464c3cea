import { useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../figures/visible.js';
import { OneInstance } from '../graph/documents.js';
import { Actions } from '../parts/actions.js';
import { loaded } from '../parts/loaded.js';
import { Empty, Failure } from '../parts/notice.js';
import { chosenTab, Tabs } from '../parts/tabs.js';
import { accountChanges, settled } from '../state/account.js';
import { modelName, readSheet, regionName, sheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/instance.js';
import type { OverviewProps } from './instance-overview.js';

/** The tabs, by their names in the URL, with their labels. */
const TABS = Object.entries(texts.tabs);

/** Each tab's code is loaded when it is shown, because charts and terminals need their own libraries. */
const Overview = loaded(async () => (await import('./instance-overview.js')).Overview);
const Files = loaded(async () => (await import('./files.js')).Files);
const Logs = loaded(async () => (await import('./logs.js')).Logs);
const Terminals = loaded(async () => (await import('./terminal.js')).Terminals);

/** Shows a rental's current state, its cost and how to reach it. */
export function InstanceScreen({ id }: { id: string }) {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
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
    <div class="stack instance">
      <div class="row between">
        <div class="instance-name">
          <p class="small">
            <a href="/instances">{texts.all}</a>
          </p>
          <h1 tabIndex={-1}>{visible(instance.name)}</h1>
          <p class="quiet instance-what">
            <span>{texts.gpus(instance.numGpus, modelName(instance.gpu))}</span>
            <span>{regionName(instance.region)}</span>
            {instance.name !== id && <span class="mono">{id}</span>}
          </p>
        </div>
        <Actions instance={instance} cannotStart={start?.refusal?.message ?? null} />
      </div>
      <Tabs label={texts.label} of={TABS} />
      <Chosen instance={instance} read={read} start={start} onChanged={again} />
    </div>
  );
}

/** Shows the content of the selected tab. */
function Chosen(props: OverviewProps) {
  const { instance, read } = props;
  const { id, status, runtime } = instance;
  const tab = chosenTab(TABS);
  if (tab === 'overview') return <Overview {...props} />;
  if (runtime === null) return <p class="notice">{texts.noAgent}</p>;
  if (tab === 'log')
    return (
      <>
        {runtime.message && <p class="notice mono small">{visible(runtime.message)}</p>}
        <Logs id={id} />
      </>
    );
  if (status !== 'RUNNING' && tab === 'terminal') return <p class="notice">{texts.noTerminal}</p>;
  if (tab === 'terminal') return <Terminals id={id} />;
  if (status !== 'RUNNING') return <p class="notice">{texts.noFiles}</p>;
  // The paths of the instance's volumes are only known once its details have been read.
  return read === null ? (
    <p class="quiet">{texts.moment}</p>
  ) : (
    <Files id={id} volumes={read.volumes.map(({ path }) => path)} />
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

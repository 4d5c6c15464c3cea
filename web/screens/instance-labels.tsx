import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Labels, labelsOf } from '../figures/labels.js';
import { SetLabels } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Icon } from '../parts/icon.js';
import { LabelField, LabelList } from '../parts/labels.js';
import { Failure } from '../parts/notice.js';
import { type Instance, takeInstance } from '../state/account.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/labels.js';

/** Shows, sets and removes an instance's labels. */
export function InstanceLabels({ instance: { id, labels } }: { instance: Instance }) {
  const typed = useSignal('');
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, error, run } = useWork();
  const change = async (changes: { labels?: Labels; remove?: string[] }) => {
    const { setLabels } = await send(SetLabels, { id, ...changes });
    if (setLabels !== null) takeInstance(setLabels);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (typed.value.trim() !== '' && (await run(() => change({ labels: labelsOf(typed.value) })))) typed.value = '';
  };
  const remove = async (key: string, value: string) => {
    if (!(await run(() => change({ remove: [key] })))) return;
    form.current?.querySelector('input')?.focus();
    say(texts.isRemoved(key), { undo: { run: () => change({ labels: { [key]: value } }), done: texts.restored(key) } });
  };
  return (
    <section class="panel padded stack-tight" aria-labelledby="labels">
      <h2 id="labels">{texts.labels}</h2>
      <LabelList
        labels={labels}
        after={(key, value) => (
          <button
            type="button"
            class="plain"
            title={texts.remove(key)}
            aria-label={texts.remove(key)}
            onClick={() => void remove(key, value)}
          >
            <Icon name="x" />
          </button>
        )}
      />
      <form ref={form} class="row field-row" onSubmit={submit}>
        <LabelField
          label={texts.change}
          value={typed.value}
          onType={(text) => {
            typed.value = text;
          }}
        />
        <button type="submit" aria-disabled={isBusy.value}>
          {texts.set}
        </button>
      </form>
      <Failure error={error.value} />
    </section>
  );
}
